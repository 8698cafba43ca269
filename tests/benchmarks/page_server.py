"""A server of line entry pages that costs little: records are rendered in advance, and a response joins them.

As a program it serves until its standard input closes: ``python page_server.py LINES LEDGERS SKEW MILLISECONDS``.
It first prints its port, and the exact sum of all signed amounts in cents.
"""

from __future__ import annotations

import asyncio
import bisect
import datetime as dt
import random
import sys
from urllib.parse import parse_qs, urlsplit

FIRST = dt.date(2025, 1, 1)
DAYS = 365


def make_record(number: int, ledger: str, instant: str, cents: int, side: str) -> bytes:
    """Render one record with all its nested objects."""
    amount = f"{cents // 100}.{cents % 100:02}"
    line, entry, transaction = f"lin_{number:024x}", f"ent_{number:024x}", f"txn_{number:024x}"
    return (
        f'{{"id":"{line}","amount":{amount},"debit_credit":"{side}","description":"Payment no {number}",'
        f'"datetime":"{instant}","editable":false,"ledger_id":"{ledger}","ledger_name":"Operating account",'
        f'"related_line_entry_id":null,"transaction_id":"{transaction}","transaction":{{"id":"{transaction}",'
        f'"amount":{"" if side == "debit" else "-"}{amount},"datetime":"{instant}","description":"Purchase {number}",'
        f'"journal_entry_id":"{entry}","ledger_id":"{ledger}","line_entry_id":"{line}","personal":false,'
        f'"posted_status":"posted","review_status":"unreviewed","source_account_id":"src_1"}},'
        f'"journal_entry_id":"{entry}","journal_entry_description":"Entry {number}","journal_entry":'
        f'{{"datetime":"{instant}","description":"Entry {number}","id":"{entry}","line_entry_ids":["{line}",'
        f'"lin_{number + 1:024x}"]}},"opposing_ledger_ids":["led_{number % 50:024x}"],"tags":[]}}'
    ).encode()


def make_ledgers(lines: int, ledgers: int, skew: float) -> tuple[dict[str, tuple[list[str], list[bytes]]], int]:
    """Render all records by ledger, and their exact sum; the first ledger has the share `skew` of them."""
    dice = random.Random(20250101)  # noqa: S311 (the same books each time)
    big = int(lines * skew) if ledgers > 1 else lines
    counts = [big, *([(lines - big) // (ledgers - 1)] * (ledgers - 1) if ledgers > 1 else [])]
    served, total, number = {}, 0, 0
    for at, count in enumerate(counts):
        ledger, days, records = f"led_{at}", [], []
        for of_ledger in range(count):
            moment = dt.datetime.combine(FIRST, dt.time()) + dt.timedelta(days=DAYS) * of_ledger / count
            # one amount in a thousand has as many digits as frames keep, so that sums of floats are wrong
            cents = dice.randrange(10**15) if number % 1000 == 0 else dice.randrange(10**7)
            side = dice.choice(("debit", "credit"))
            total += cents if side == "debit" else -cents
            days.append(moment.date().isoformat())
            instant = moment.isoformat(timespec="seconds") + "Z"
            records.append(make_record(number, ledger, instant, cents, side))
            number += 1
        served[ledger] = (days, records)
    return served, total


class Pages:
    """Responds with pages, each after the same latency."""

    def __init__(self, ledgers: dict[str, tuple[list[str], list[bytes]]], latency: float) -> None:
        self.ledgers = ledgers
        self.latency = latency

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = self._page(head.split(b" ", 2)[1].decode())
                await asyncio.sleep(self.latency)
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _page(self, target: str) -> bytes:
        url = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        days, records = self.ledgers[url.path.split("/")[3]]
        first = bisect.bisect_left(days, asked["start_date"])
        last = bisect.bisect_right(days, asked["end_date"])
        at = int(asked.get("page_token", first))
        until = min(at + int(asked.get("limit", 50)), last)
        following = b'"%d"' % until if until < last else b"null"
        return (
            b'{"records":['
            + b",".join(records[at:until])
            + b'],"next_page_token":%b,"prev_page_token":null}' % following
        )


async def main() -> None:
    """Serve until standard input closes."""
    lines, ledgers, skew, milliseconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    served, total = make_ledgers(lines, ledgers, skew)
    server = await asyncio.start_server(Pages(served, milliseconds / 1000).serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], total, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
