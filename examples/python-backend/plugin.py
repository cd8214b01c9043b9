#!/usr/bin/python3
"""A claim-only backend in Python, written from docs/protocol.md alone.

This file is the process: how a plugin is started, found alive and ended (chapter 2
of that page). service.py speaks the protocol's messages, jobs.py keeps the jobs.
"""

import asyncio
import json
import os
import signal
import sys

COOKIE = "b7b6fb0d-anarchon-store-plugin"
MAX_MESSAGE = 16 << 20  # bytes, in either direction


def main():
    if os.environ.get("ANARCHON_PLUGIN") != COOKIE:
        return by_hand(sys.argv[1:])
    if "1" not in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", "").split(","):
        return f"the host speaks the protocol versions {os.environ.get('PLUGIN_PROTOCOL_VERSIONS')!r}, this plugin version 1"
    if os.environ.get("PLUGIN_CLIENT_CERT"):
        return "this plugin can't do mutual TLS: the service must not ask for it"
    asyncio.run(serve())


def by_hand(args):
    """Say what this is: nobody shakes hands with a person."""
    import service

    if args == ["--version"]:
        print(service.NAME, service.VERSION)
    elif args == ["describe"]:
        print(json.dumps(service.described(), indent=2))
    else:
        return f"{service.NAME} is a plugin of anarchon: a service starts it. Try: plugin.py describe"


async def serve():
    import grpc  # only now: it is slow to load

    from service import Service

    service = Service()
    server = grpc.aio.server(
        options=[("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
    )
    server.add_generic_rpc_handlers([service.handlers()])
    socket = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "plugin.sock")
    if server.add_insecure_port("unix:" + socket) == 0:
        sys.exit(f"can't listen on {socket}")
    await server.start()

    # The handshake, once there is somebody to shake hands with. Nothing may have
    # been printed to stdout before it.
    fields = ["1", "1", "unix", socket, "grpc", ""]
    if os.environ.get("PLUGIN_MULTIPLEX_GRPC"):
        fields.append("false")
    print("|".join(fields), flush=True)

    await host_is_gone()
    service.close()
    # Not by returning: asyncio would wait for threads, and grpc for calls.
    os._exit(0)


async def host_is_gone():
    """Return when the lifeline ends: the host closed it, or was killed.

    A stop signal to the whole group is ignored, because the host still needs the
    store to hand its runs over. Without a lifeline nothing else would end us.
    """
    lifeline = os.environ.get("ANARCHON_LIFELINE_FD")
    if lifeline is None:
        await asyncio.Event().wait()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    os.set_inheritable(int(lifeline), False)
    await asyncio.get_running_loop().run_in_executor(None, os.read, int(lifeline), 1)


if __name__ == "__main__":
    sys.exit(main())
