# SPDX-License-Identifier: MIT
"""Reads the declarations of a public header.

The headers are plain on purpose (no macros, unions or bit fields between the
`extern "C"` guards), so a few regular expressions are a sufficient parser.
"""

import re

_GUARD = '#ifdef __cplusplus\nextern "C" {\n#endif\n'
_END = "#ifdef __cplusplus\n}\n#endif\n"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} (\w+);", re.DOTALL)
_ENUM = re.compile(r"\benum\s*\{(.*?)\}", re.DOTALL)
_FUNCTION = re.compile(r"\b(lbroute_\w+)\s*\(")


def span(text):
    """The text between the `extern "C"` guards, which cffi reads."""
    if _GUARD not in text or _END not in text:
        raise ValueError('no extern "C" guards')
    return text.split(_GUARD, 1)[1].rsplit(_END, 1)[0]


def without_comments(text):
    return _COMMENT.sub(" ", text)


def structs(text):
    """{struct name: [field names]} of the defined structs."""
    found = {}
    for match in _STRUCT.finditer(without_comments(span(text))):
        found[match.group(1)] = [
            _field_name(field) for field in match.group(2).split(";")
            if field.strip()
        ]
    return found


def _field_name(declaration):
    pointer_to_function = re.search(r"\(\*(\w+)\)\s*\(", declaration)
    if pointer_to_function:
        return pointer_to_function.group(1)
    return re.search(r"(\w+)\s*(?:\[\w+\])?\s*$", declaration).group(1)


def constants(text):
    """{name: value} of the enumerators; each states its value."""
    found = {}
    for body in _ENUM.findall(without_comments(span(text))):
        for enumerator in filter(str.strip, body.split(",")):
            name, value = enumerator.split("=")
            found[name.strip()] = int(value)
    return found


def functions(text):
    """Names of the declared functions, in order."""
    flat = _STRUCT.sub("", without_comments(span(text)))
    names = []
    for statement in flat.split(";"):
        match = _FUNCTION.search(statement)
        if match and "typedef" not in statement:
            names.append(match.group(1))
    return names


def comment_before(text, function):
    """The documentation comment right before a function, or None."""
    declaration = re.search(
        r"/\*\*((?:(?!\*/).)*)\*/\s*[^;{}()/#]*\b" + function + r"\s*\(",
        text, re.DOTALL)
    return declaration.group(1) if declaration else None
