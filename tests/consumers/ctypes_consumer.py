# SPDX-License-Identifier: MIT
"""A host that loads the library with ctypes, without the Python package.

It declares only the first fields of the structs, as a caller does that is
older than the library: their sizes tell what it knows.

usage: ctypes_consumer.py LIBRARY
"""

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_uint64, c_void_p

EVENT_SUCCESS = 2
NOT_FOUND = -3


def struct(name, fields):
    return type(name, (ctypes.Structure,),
                {"_fields_": [("size", c_size_t), *fields]})


RouterOptions = struct("RouterOptions", [("allocator", c_void_p * 3),
                                         ("seed", c_uint64)])
PoolOptions = struct("PoolOptions", [("name", c_char_p),
                                     ("name_len", c_size_t)])
TargetOptions = struct("TargetOptions", [
    ("name", c_char_p), ("name_len", c_size_t), ("pool", c_uint64)])
Request = struct("Request", [("pool", c_uint64)])
Decision = struct("Decision", [("target", c_uint64), ("ticket", c_uint64)])
Event = struct("Event", [("ticket", c_uint64), ("kind", c_int32),
                         ("reserved0", c_int32)])
Stats = struct("Stats", [("picks", c_uint64)])


class Host:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.lbroute_version.restype = c_char_p
        self.router = c_void_p()
        options = self.initialised(RouterOptions, "router_options", seed=1)
        self.call("router_create", ctypes.byref(options),
                  ctypes.byref(self.router))

    def destroy(self):
        self.library.lbroute_router_destroy.restype = None
        self.library.lbroute_router_destroy(self.router)

    def call(self, name, *arguments, result=0):
        got = getattr(self.library, "lbroute_" + name)(*arguments)
        if got != result:
            sys.exit(f"lbroute_{name} gives {got}, not {result}")

    def initialised(self, struct_type, init, **values):
        """A struct with the library's defaults, then with these values."""
        made = struct_type()
        function = getattr(self.library, f"lbroute_{init}_init")
        function.argtypes = [POINTER(struct_type), c_size_t]
        function.restype = None
        function(ctypes.byref(made), ctypes.sizeof(made))
        for name, value in values.items():
            setattr(made, name, value)
        return made

    def add(self, kind, options, *now):
        handle = c_uint64()
        self.call(f"{kind}_add", self.router, ctypes.byref(options), *now,
                  ctypes.byref(handle))
        return handle.value

    def pick(self, pool, now):
        request = self.initialised(Request, "request", pool=pool)
        decision = self.initialised(Decision, "decision")
        self.call("pick", self.router, ctypes.byref(request), c_uint64(now),
                  ctypes.byref(decision))
        return decision

    def observe(self, ticket, now, result=0):
        event = self.initialised(Event, "event", ticket=ticket,
                                 kind=EVENT_SUCCESS)
        self.call("observe", self.router, ctypes.byref(event), c_uint64(now),
                  result=result)


def route(host):
    pool = host.add("pool", host.initialised(
        PoolOptions, "pool_options", name=b"chat", name_len=4))
    targets = {host.add("target", host.initialised(
        TargetOptions, "target_options", name=name, name_len=len(name),
        pool=pool), c_uint64(0)) for name in (b"gpu-0", b"gpu-1")}
    picked = set()
    for now in (1, 3):
        decision = host.pick(pool, now)
        picked.add(decision.target)
        host.observe(decision.ticket, now + 1)
        host.observe(decision.ticket, now + 1, result=NOT_FOUND)
    if picked != targets:
        sys.exit(f"equal weights serve all of {targets}: {picked}")


def main():
    host = Host(sys.argv[1])
    route(host)
    stats = host.initialised(Stats, "stats")
    host.call("get_stats", host.router, ctypes.byref(stats))
    if stats.picks != 2:
        sys.exit(f"two picks were made, not {stats.picks}")
    host.destroy()
    print(host.library.lbroute_version().decode())


if __name__ == "__main__":
    main()
