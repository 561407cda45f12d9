# SPDX-License-Identifier: MIT
# Made by cffi; nothing of it is seen outside of the package.
from typing import Any

ffi: Any
lib: Any
