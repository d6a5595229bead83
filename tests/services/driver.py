"""Actions that tests run on an installation, in a separate process.

`python -m tests.services.driver` reads lines of the form `[ACTION, {...}]` and answers each with
one line, so that Django is started only once. Actions that are begun run in processes of their own,
which are copies of this one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
import uuid
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import django

from tests.services import posting


def command(words: list[str]) -> dict[str, Any]:
    """Run a command of manage.py in this process; return its output."""
    import io

    from django.core.management import call_command

    output = io.StringIO()
    call_command(*words, stdout=output)
    return {"output": output.getvalue()}


def prepare(rows: int, in_rho: bool = False) -> dict[str, Any]:
    """Make a dataset with `rows` rows of data; return the ids of the dataset and its ledger.

    Its budget is an epsilon of 4 or, if `in_rho`, the rho that converts to this epsilon at a delta
    of 1e-9.
    """
    from dpgeo.budgets.services import PURE, Accounting
    from tests.makers import make_dataset, make_organisation, make_ready

    accounting = Accounting(delta_exponent=9, population=1000) if in_rho else PURE
    dataset = make_dataset(make_organisation(f"Office {uuid.uuid4()}"), accounting=accounting)
    with tempfile.TemporaryDirectory() as folder:
        make_ready(dataset, Path(folder), rows)
    return {"dataset": dataset.pk, "ledger": dataset.ledger_id}


def prepare_files(dataset: int, count: int, size: int) -> dict[str, Any]:
    """Store `count` files of `size` random bytes, as files of a dataset's uploads."""
    from dpgeo.datasets.models import Dataset, Upload, UploadState
    from dpgeo.datasets.storage import private_storage, store

    with tempfile.TemporaryDirectory(dir=os.environ["DPGEO_VAR"]) as folder:
        for _ in range(count):
            path = Path(folder) / "file"
            with path.open("wb") as file:
                for _ in range(size >> 20):
                    file.write(os.urandom(1 << 20))
            Upload.objects.create(
                dataset=Dataset.objects.get(pk=dataset),
                file_name="trips.csv",
                size=size,
                raw_name="",
                canonical_name=store(private_storage(), f"canonical/{uuid.uuid4()}", path),
                state=UploadState.READY,
                report={},
            )
    return {"bytes": count * size}


def request(dataset: int) -> dict[str, Any]:
    """Request a release that is published when done; its job goes to the workers."""
    from dpgeo.datasets.models import Dataset
    from tests.makers import make_request

    release = make_request(Dataset.objects.get(pk=dataset), publish_when_done=True)
    return {"release": release.pk}


def prepare_series(people: int, weeks: int) -> dict[str, Any]:
    """Declare a series of weekly maps of `people` persons, each of them in three places every week.

    All weeks are complete, so maps are due. Returns the series' id.
    """
    from tests.makers import make_dataset, make_organisation
    from tests.web import test_series as series

    dataset = make_dataset(
        make_organisation(f"Office {uuid.uuid4()}"), budget=1000, new_files="append"
    )
    for number in range(1, weeks + 1):
        series.add(dataset, series.week(number, range(people), places=3))
    declared = series.declare(dataset)
    series.complete(declared, weeks)
    return {"series": str(declared.pk)}


def request_due() -> dict[str, Any]:
    """Request the maps that are due, as the reaper does."""
    from dpgeo.releases.series import series_draw_due

    return {"requested": series_draw_due()}


def moved_on_or(look: Callable[[], list[int]]) -> list[int]:
    """Return what `look` returns, or [] if a worker has deleted the state that `look` reads."""
    try:
        return look()
    except FileNotFoundError:
        return []


def look_at_series(series: str) -> dict[str, Any]:
    """Return a series' progress, its maps' counts and cost, and the number of draws of each map."""
    from dpgeo.datasets.orphan_files import stored_names
    from dpgeo.datasets.storage import private_storage
    from dpgeo.releases.models import Series
    from tests.web.test_series import counted, used

    stored = Series.objects.select_related("dataset__ledger").get(pk=series)
    releases = stored.releases.exclude(blob_name="").order_by("number")
    jobs = [str(stored.job_id(number)) for number in range(1, stored.drawn + 1)]
    names = list(stored_names(private_storage(), "blobs"))
    return {
        "drawn": stored.drawn,
        "ended": stored.ending,
        "counts": [counted(each) for each in releases],
        "used": moved_on_or(lambda: used(stored)) if stored.state_name else [],
        "draws": [sum(job in name for name in names) for job in jobs],
        "spent": stored.dataset.ledger.spent_units,
        "entries": stored.dataset.ledger.entries.count(),
        "running": stored.releases.filter(job__state="running").count(),
    }


def erase(dataset: int) -> dict[str, Any]:
    """Erase the person "ann" from a dataset, with the job run in this process, not by a worker."""
    from dpgeo.datasets.erasure import person_erase
    from dpgeo.datasets.ingest_job import upload_ingest
    from dpgeo.datasets.models import Dataset

    version = person_erase(dataset=Dataset.objects.get(pk=dataset), person="ann", by=None)
    return {"erased": upload_ingest(upload_id=version.pk)}


def request_unheard(dataset: int) -> dict[str, Any]:
    """Request a release without sending the message by which workers learn of jobs."""
    from celery import current_app

    current_app.send_task = lambda *_, **__: None
    return request(dataset)


def exhaust(release: str) -> dict[str, Any]:
    """Use up all attempts at a release's job, as if each worker had died before it drew noise."""
    from django.utils import timezone

    from dpgeo.jobs.models import Job, JobState
    from dpgeo.jobs.services import MAX_ATTEMPTS

    past = timezone.now() - timedelta(minutes=2)
    leased = {"state": JobState.RUNNING, "lease": uuid.uuid4(), "lease_until": past}
    jobs = Job.objects.filter(release=release)
    return {"jobs": jobs.update(**leased, attempts=MAX_ATTEMPTS, woken_at=past)}


def sign_in(dataset: int, query: str = "") -> dict[str, Any]:
    """Return what a browser needs to upload to a dataset and to pay for the release in a query."""
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.core import signing
    from django.http import QueryDict

    from dpgeo.accounts.models import User
    from dpgeo.datasets.models import Dataset
    from dpgeo.pages.desk.map_form import ReleaseForm
    from dpgeo.pages.desk.publishing import TOKEN_SALT, agreed

    user = User.objects.create_superuser(username=f"owner{uuid.uuid4()}")
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    asked = ReleaseForm(QueryDict(query).dict(), dataset=Dataset.objects.get(pk=dataset))
    receipt = {"job": str(uuid.uuid4()), "user": user.pk, "agreed": agreed(asked)}
    return {
        "session": session.session_key,
        "slug": asked.dataset.slug,
        "receipt": signing.dumps(receipt, salt=TOKEN_SALT),
    }


def stored(dataset: int) -> dict[str, Any]:
    """Return a dataset's release ids and its spent budget, with counts of its uploads and files."""
    from django.conf import settings

    from dpgeo.datasets.models import Dataset
    from dpgeo.datasets.orphan_files import stored_names
    from dpgeo.datasets.storage import private_storage

    stored_dataset = Dataset.objects.select_related("ledger").get(pk=dataset)
    return {
        "uploads": stored_dataset.uploads.filter(file_name="web.csv").count(),
        "raw_files": len(list(stored_names(private_storage(), "uploads"))),
        "incoming": len(list(Path(settings.INCOMING_DIR).iterdir())),
        "releases": [release.pk for release in stored_dataset.releases.all()],
        "spent": stored_dataset.ledger.spent_units,
    }


def age() -> dict[str, Any]:
    """Make every file of the installation two days old."""
    import time

    from django.conf import settings

    past = time.time() - 2 * 24 * 3600
    files = [path for path in Path(settings.VAR_DIR).rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (past, past))
    return {"files": len(files)}


def look(release: str) -> dict[str, Any]:
    """Return what is stored of a release: states, job, blob, files, and its ledger's entries."""
    from dpgeo.budgets.models import Entry
    from dpgeo.datasets.storage import private_storage, public_storage
    from dpgeo.releases.models import Release

    stored_release = Release.objects.select_related("job", "dataset__ledger").get(pk=release)
    blobs = Path(private_storage().path("blobs"))
    public = Path(public_storage().path(stored_release.pk))
    # In the storage, a random prefix and a hyphen stand before a file's name.
    paths = public.iterdir() if public.exists() else []
    names = sorted(path.name.partition("-")[2] for path in paths)
    return {
        "job": stored_release.job.state,
        "drawing": stored_release.job.drawing,
        "attempts": stored_release.job.attempts,
        "state": stored_release.state,
        "blob": stored_release.blob_sha256,
        "blobs": len(list(blobs.iterdir())) if blobs.exists() else 0,
        "files": {file.name: file.sha256 for file in stored_release.files.all()},
        "public": names,
        "spent": stored_release.dataset.ledger.spent_units,
        "entries": list(Entry.objects.order_by("id").values_list("kind", flat=True)),
        "draws_in_files": draws_in_files(stored_release),
    }


def draws_in_files(release: Any) -> int:
    """Return how many different vectors of noisy counts a release's draw and files contain."""
    import geopandas

    from dpgeo.postprocess.layers import box_layers
    from dpgeo.releases.selectors import load_released, stored_file

    if not release.blob_name:
        return 0
    draws = {tuple(map(int, box_layers(load_released(release))[0].value))}
    if release.files.filter(name="cells.parquet").exists():
        try:
            stored = stored_file(release, "cells.parquet")
            file = stored.storage.open(stored.name, "rb")
        except FileNotFoundError:
            # The file was moved to the public storage after the lookup above, so look it up again.
            stored = stored_file(release, "cells.parquet")
            file = stored.storage.open(stored.name, "rb")
        with file:
            draws.add(tuple(map(int, geopandas.read_parquet(file)["estimate"])))
    return len(draws)


def lapse() -> dict[str, Any]:
    """Expire all leases, and end the waiting time before jobs may be queued again."""
    from django.utils import timezone

    from dpgeo.jobs.models import Job, JobState

    past = timezone.now() - timedelta(minutes=2)
    Job.objects.filter(state=JobState.RUNNING).update(lease_until=past)
    return {"jobs": Job.objects.update(woken_at=past)}


def debits(ledger: int, count: int, epsilon: str = "", nano_rho: int = 0) -> dict[str, Any]:
    """Make `count` debits in sequence; return how many of them were paid and how many refused.

    Each costs `epsilon` or, if that is empty, `nano_rho`.
    """
    from dpgeo.budgets.models import Ledger
    from dpgeo.budgets.services import budget_debit
    from dpgeo.core.errors import BudgetExceeded
    from dpgeo.core.guarantees import ZCDP, Guarantee, PureDP, Unit

    paid = refused = 0
    shared = Ledger.objects.get(pk=ledger)
    cost: Guarantee = (
        PureDP(Fraction(epsilon), Unit.PERSON)
        if epsilon
        else ZCDP(Fraction(nano_rho, 10**9), Fraction(1, 10**9), Unit.PERSON)
    )
    for _ in range(count):
        try:
            budget_debit(ledger=shared, job=uuid.uuid4(), cost=cost, what="A map", who="")
        except BudgetExceeded:
            refused += 1
        else:
            paid += 1
    return {"paid": paid, "refused": refused}


def merge(ledger: int, into: int) -> dict[str, Any]:
    """Merge a ledger into another; return False if another process has merged one of them first."""
    from dpgeo.budgets.merging import ledger_merge
    from dpgeo.budgets.models import Ledger
    from dpgeo.core.errors import Conflict

    one, other = (Ledger.objects.get(pk=each) for each in (ledger, into))
    try:
        ledger_merge(ledger=one, into=other, who="")
    except Conflict:
        return {"merged": False}
    return {"merged": True}


def total(ledger: int) -> dict[str, Any]:
    """Return a ledger's budget, the amount that it reports as spent, and the sum of its entries."""
    from django.db.models import Sum

    from dpgeo.budgets.models import Ledger

    stored_ledger = Ledger.objects.get(pk=ledger)
    summed = stored_ledger.entries.aggregate(sum=Sum("units"))["sum"]
    return {
        "total": stored_ledger.total_units,
        "spent": stored_ledger.spent_units,
        "summed": summed,
    }


def totals() -> dict[str, Any]:
    """Return, for each ledger, the amount spent, the total budget, and the sum of the entries."""
    from dpgeo.budgets.models import Ledger

    ledgers = Ledger.objects.order_by("pk")
    return {
        "ledgers": [
            [each["spent"], each["total"], each["summed"]]
            for each in map(total, ledgers.values_list("pk", flat=True))
        ]
    }


def announce(dataset: int, count: int, at: float) -> dict[str, Any]:
    """Wait until the time `at`, then register `count` resumable uploads as the dataset's owner.

    Returns how many were accepted, and how many transfers of the dataset are open.
    """
    import time

    from dpgeo.accounts.models import User
    from dpgeo.core.errors import Conflict
    from dpgeo.datasets.models import Dataset
    from dpgeo.datasets.resumable_uploads import transfer_begin

    owner, _ = User.objects.get_or_create(username="owner of files")
    stored_dataset = Dataset.objects.get(pk=dataset)
    time.sleep(max(0, at - time.time()))
    taken = 0
    for _ in range(count):
        try:
            transfer_begin(dataset=stored_dataset, file_name="a.csv", size=1, by=owner)
        except Conflict:
            continue
        taken += 1
    return {"taken": taken, "open": stored_dataset.transfers.count()}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    action.__name__: action
    for action in (
        prepare_files,
        *(prepare_series, request_due, look_at_series),
        *(prepare, request, request_unheard, erase, look, stored, sign_in),
        *(lapse, exhaust, age, debits, merge, total, totals, announce, command),
    )
}


BEGUN: dict[int, int] = {}
"""For each process that carries out an action, the pipe from which its answer is read."""


def begin(action: str, values: dict[str, Any]) -> dict[str, Any]:
    """Start an action in a copy of this process, and return the copy's process id.

    No connection to a database is open here, so the copy opens its own.
    """
    answer, written = os.pipe()
    process = os.fork()
    if process:
        os.close(written)
        BEGUN[process] = answer
        return {"process": process}
    code = 1
    try:
        with os.fdopen(written, "w") as file:
            json.dump(ACTIONS[action](**values), file)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)  # the copied process must neither read nor answer further lines


def finish(process: int) -> dict[str, Any]:
    """Wait for an action that was begun; return its exit code and its answer."""
    with os.fdopen(BEGUN.pop(process)) as file:
        answer = file.read()
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "answer": None if code else json.loads(answer)}


ACTIONS |= posting.ACTIONS | {each.__name__: each for each in (begin, finish)}


def answer_lines() -> None:
    """Carry out actions from standard input until it ends; close database connections after
    each.
    """
    from django.db import connections

    # Only answers may go to standard output, so what actions print goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        action, values = json.loads(line)
        answer = ACTIONS[action](**values)
        connections.close_all()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    django.setup()
    answer_lines()
