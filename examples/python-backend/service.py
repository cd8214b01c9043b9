"""The protocol's messages: docs/protocol.md, chapters 3 to 6."""

import asyncio
import concurrent.futures
import difflib
import json
import sqlite3
import time

import grpc

import store_pb2 as pb
from jobs import FORMAT, FAILED, INTERRUPTED, SUCCESS, Jobs, NotApplied, StoreFormatError, now_ms

NAME, VERSION = "pythonsqlite", "0.1.0"

OPTIONS = [
    pb.Option(name="path", type=pb.OPTION_TYPE_STRING, required=True, help="The database file, made if missing; a relative path counts from the working directory of the service."),
    pb.Option(name="namespace", type=pb.OPTION_TYPE_STRING, default="default", help="Services that share a file don't see the jobs of another namespace; the default is good for one service per file."),
    pb.Option(name="keep", type=pb.OPTION_TYPE_INT, default="10000", min=10, max=1_000_000, help="Runs of a job that are remembered; the default covers a day of a job that runs every nine seconds."),
]  # fmt: skip


class Fault(Exception):
    """An error of the protocol, for one item."""

    def __init__(self, error_class, message, field="", value="", rule=""):
        super().__init__(message)
        self.error = pb.Error(message=message, field=field, value=value, rule=rule, **{"class": error_class})


def invalid(field, value, rule):
    return Fault(pb.ERROR_CLASS_INVALID, f"{field} is {value}; it must be {rule}", field, str(value), rule)


def unsupported(what):
    return Fault(pb.ERROR_CLASS_UNSUPPORTED, f"{what}: a claim-only backend does not have that")


class Service:
    """StoreService. The event loop answers at once what needs no store, Health above
    all; everything else happens on one thread, in the order of its arrival."""

    def __init__(self):
        self.thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self.jobs = None
        self.description = None

    def handlers(self):
        def method(name, do):
            request, response = getattr(pb, name + "Request"), getattr(pb, name + "Response")
            return grpc.unary_unary_rpc_method_handler(do, request.FromString, response.SerializeToString)

        methods = {
            "Info": self.info, "Configure": self.configure, "Describe": self.describe, "Claim": self.claim,
            "Heartbeat": self.heartbeat, "Finish": self.finish, "Recall": self.recall, "Health": self.health, "Stop": self.stop,
        }  # fmt: skip
        return grpc.method_handlers_generic_handler(
            "anarchon.store.v1.StoreService", {name: method(name, do) for name, do in methods.items()}
        )

    # The questions before the verbs.

    async def info(self, _, context):
        return pb.InfoResponse(name=NAME, version=VERSION, options=OPTIONS, protocols=[1])

    async def health(self, _, context):
        return pb.HealthResponse(ready=self.jobs is not None)

    async def configure(self, request, context):
        try:
            options = read_options(request.config)
            await self._on_thread(lambda: self._open(options))
        except Fault as f:
            return pb.ConfigureResponse(error=f.error)
        return pb.ConfigureResponse()

    def _open(self, options):
        try:
            self.jobs = Jobs(options["path"], options["namespace"], options["keep"])
            self.description = pb.Description(
                kind=pb.KIND_CLAIM_ONLY,
                memory=pb.Memory(runs=options["keep"]),
                clock=pb.CLOCK_STORE,
                fenced=True,
                history=True,
                product="SQLite " + sqlite3.sqlite_version,
                settings=[pb.Setting(name=n, value=v) for n, v in self.jobs.settings],
                format=FORMAT,
            )
        except StoreFormatError as e:
            raise Fault(pb.ERROR_CLASS_STORE_FORMAT, str(e))
        except (NotApplied, sqlite3.Error) as e:
            raise Fault(pb.ERROR_CLASS_NOT_APPLIED, f"opening {options['path']!r}: {e}; it must be a file that this user can write, in a directory that is there")

    async def describe(self, _, context):
        if self.description is None:
            return pb.DescribeResponse(error=Fault(pb.ERROR_CLASS_NOT_APPLIED, "not configured").error)
        return pb.DescribeResponse(description=self.description)

    async def stop(self, _, context):
        await self._on_thread(self._close)  # behind all calls that came before
        return pb.StopResponse()

    # The verbs.

    async def claim(self, request, context):
        def decide(c):
            check_claim(c)
            a = self.jobs.claim(c)
            a["verdict"] = pb.Verdict.Value("VERDICT_" + a["verdict"])
            return pb.ClaimResult(answer=pb.ClaimAnswer(**a))

        results = await self._batch(context, request.claims, decide, lambda e: pb.ClaimResult(error=e))
        return pb.ClaimResponse(results=results)

    async def finish(self, request, context):
        status = {pb.OUTCOME_SUCCESS: SUCCESS, pb.OUTCOME_FAILED: FAILED, pb.OUTCOME_INTERRUPTED: INTERRUPTED}

        def decide(f):
            check_finish(f)
            if f.outcome == pb.OUTCOME_RELEASED:
                raise unsupported("a hand-over")
            return pb.FinishResult(answer=pb.FinishAnswer(**self.jobs.finish(f, status[f.outcome])))

        results = await self._batch(context, request.finishes, decide, lambda e: pb.FinishResult(error=e))
        return pb.FinishResponse(results=results)

    async def heartbeat(self, request, context):
        error = unsupported("a heartbeat").error
        return pb.HeartbeatResponse(results=[pb.HeartbeatResult(error=error) for _ in request.heartbeats])

    async def recall(self, request, context):
        return pb.RecallResponse(results=[await self._recall(r, context) for r in request.recalls])

    async def _recall(self, r, context):
        try:
            if r.WhichOneof("what") != "history":
                raise unsupported("a recall of unfinished runs")
            h = r.history
            check_name("job", h.job)
            check_number("limit", h.limit, 1, 10_000)
            before = read_page(h.page)
            read = lambda _: self.jobs.history(h.job, h.limit, before)
            [(attempts, more)] = await self._on_thread(lambda: self._opened().in_one_commit(read, [None], until(context)))
        except Fault as f:
            return pb.RecallResult(error=f.error)
        except (NotApplied, sqlite3.Error) as e:
            return pb.RecallResult(error=Fault(pb.ERROR_CLASS_NOT_APPLIED, str(e)).error)
        following = str(attempts[-1]["slot_ms"]).encode() if more else b""
        return pb.RecallResult(
            history=pb.HistoryAnswer(attempts=[pb.Attempt(**a) for a in attempts], next=following, now_ms=now_ms())
        )

    async def _batch(self, context, items, decide, failed):
        """One result per item, in order: a bad item does not fail its neighbours."""
        deadline = until(context)

        def one(item):
            try:
                return decide(item)
            except Fault as f:
                return failed(f.error)

        def all_of_them():
            if time.monotonic() > deadline:
                raise NotApplied("the call's deadline passed before it was begun")
            return self._opened().in_one_commit(one, items, deadline)

        try:
            return await self._on_thread(all_of_them)
        except Fault as f:
            error = f.error
        except NotApplied as e:
            error = Fault(pb.ERROR_CLASS_NOT_APPLIED, str(e)).error
        except sqlite3.Error as e:  # from the commit: it may have reached the disk
            error = Fault(pb.ERROR_CLASS_UNKNOWN, f"commit: {e}").error
        return [failed(error) for _ in items]

    # The thread that owns the store.

    async def _on_thread(self, do):
        return await asyncio.get_running_loop().run_in_executor(self.thread, do)

    def _opened(self):
        if self.jobs is None:
            raise Fault(pb.ERROR_CLASS_NOT_APPLIED, "the store is not open: not configured yet, or stopped")
        return self.jobs

    def _close(self):
        if self.jobs is not None:
            self.jobs.close()
            self.jobs = None

    def close(self):
        """Close the store if Stop did not, within the time that is left."""
        concurrent.futures.wait([self.thread.submit(self._close)], timeout=4)


def until(context):
    """When to give up, of time.monotonic: a little before the host does, so that it
    hears that nothing was written."""
    remaining = context.time_remaining()
    return time.monotonic() + 0.9 * (60 if remaining is None else remaining)


def described():
    """What Info answers, for people."""
    types = {pb.OPTION_TYPE_STRING: "string", pb.OPTION_TYPE_INT: "int"}
    options = [{"name": o.name, "type": types[o.type], "required": o.required, "default": o.default, "help": o.help} for o in OPTIONS]
    return {"name": NAME, "version": VERSION, "strategies": [], "options": options, "protocols": [1]}


# Requests, checked before anything is written. The names of the fields are those of
# docs/protocol.md.


def read_options(text):
    """The configuration, with defaults; or all its faults at once."""
    known = {o.name: o for o in OPTIONS}
    given, faults = json.loads(text or b"{}"), []
    for name in given.keys() - known.keys():
        near = difflib.get_close_matches(name, known, 1)
        faults.append(f"unknown option {name!r}" + (f"; did you mean {near[0]!r}?" if near else f"; known are {sorted(known)}"))
    values = {}
    for name, o in known.items():
        value = given.get(name, o.default)
        if o.required and value == "":
            faults.append(f"option {name} is required")
        elif o.type == pb.OPTION_TYPE_INT:
            try:
                values[name] = int(value)  # a string is read as a user would type it
                if not o.min <= values[name] <= o.max:
                    raise ValueError
            except (TypeError, ValueError):
                faults.append(f"option {name} is {value!r}; it must be an int from {o.min} to {o.max}")
        elif not isinstance(value, str):
            faults.append(f"option {name} is {value!r}; it must be a string")
        else:
            values[name] = value
    if not faults and not 1 <= len(values["namespace"].encode()) <= 200:
        faults.append("option namespace must have 1 to 200 bytes")
    if faults:
        raise Fault(pb.ERROR_CLASS_INVALID, "\n".join(faults))
    return values


DAY_MS = 24 * 3600 * 1000


def check_claim(c):
    check_name("job", c.job)
    check_slot(c.slot_ms)
    if len(c.id) != 16 or c.id == bytes(16):
        raise invalid("claim id", c.id.hex() or "empty", "16 random bytes")
    check_number("after", c.after, 0, 1 << 30)
    check_name("instance", c.instance)
    check_enum("reason", c.reason, pb.Reason)
    check_number("lease", c.lease_ms, 1, 30 * DAY_MS)
    check_number("max early", c.max_early_ms, 0, 366 * DAY_MS)
    check_number("max late", c.max_late_ms, 0, 366 * DAY_MS)
    check_enum("overlap", c.overlap, pb.Overlap)
    check_number("max attempts", c.max_attempts, 1, 100)
    check_number("history size", c.history_size, 1, 10_000)
    if len(c.fingerprint.encode()) > 64:
        raise invalid("fingerprint", repr(c.fingerprint[:60]), "at most 64 bytes")


def check_finish(f):
    check_name("job", f.job)
    check_slot(f.slot_ms)
    check_number("token", f.token, 0, (1 << 63) - 1)
    check_enum("outcome", f.outcome, pb.Outcome)


def check_name(field, name):
    if not 1 <= len(name.encode()) <= 200:
        raise invalid(field, repr(name[:60]), "1 to 200 bytes of UTF-8")


def check_slot(slot):
    check_number("slot", slot, -62_135_596_800_000, 253_402_300_799_999)


def check_number(field, n, low, high):
    if not low <= n <= high:
        raise invalid(field, n, f"{low} to {high}")


def check_enum(field, n, enum):
    if n == 0 or n not in enum.values():
        raise invalid(field, n, f"one of {enum.keys()[1:]}")


def read_page(page):
    """The slot that a page begins below; all slots are below the first page's."""
    if page == b"":
        return 1 << 62
    try:
        slot = int(page)
        if str(slot).encode() == page and abs(slot) < 1 << 62:
            return slot
    except ValueError:
        pass
    raise invalid("page", repr(page[:60]), "empty, or what the page before said in next")
