# SPDX-License-Identifier: MIT
"""Puts an HTML page into a C source, with the policy that allows its script and
style by their hashes and nothing else.

usage: embed_page.py PAGE OUTPUT
"""

import base64
import hashlib
import re
import sys


def sources(page, element):
    """The hashes of all inline elements of a kind, as a policy lists them."""
    texts = re.findall(rf"<{element}>(.*?)</{element}>", page, re.S)
    hashes = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'"
                    for digest in hashes)


def policy(page):
    return "; ".join([
        "default-src 'none'",
        f"script-src {sources(page, 'script')}",
        f"style-src {sources(page, 'style')}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ])


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as source:
        page = source.read()
    data = page.encode()
    rows = (", ".join(str(byte) for byte in data[i:i + 16])
            for i in range(0, len(data), 16))
    with open(sys.argv[2], "w", encoding="ascii") as output:
        output.write('#include "dashboard.h"\n\n'
                     "const unsigned char dashboard_page[] = {\n    "
                     + ",\n    ".join(rows) + "};\n\n"
                     f"const size_t dashboard_size = {len(data)};\n\n"
                     "const char dashboard_policy[] =\n"
                     f'    "{policy(page)}";\n')


if __name__ == "__main__":
    main()
