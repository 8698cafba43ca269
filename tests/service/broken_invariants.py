"""What must hold for the books in any database of the service, found by SQL of its own."""

from accounting_analytics.service import tables

_QUERIES = {
    "an entry without two lines, or whose debits do not equal its credits": (
        "SELECT e.id FROM journal_entries e LEFT JOIN line_entries l ON l.journal_entry_pk = e.pk "
        "GROUP BY e.pk, e.id HAVING count(l.pk) < 2 OR sum(l.units) <> 0"
    ),
    "a line whose entry or ledger is of another instance, or whose entry has another instant": (
        "SELECT l.id FROM line_entries l LEFT JOIN journal_entries e ON e.pk = l.journal_entry_pk AND "
        "e.instance_pk = l.instance_pk AND e.datetime = l.datetime LEFT JOIN ledgers g ON g.pk = l.ledger_pk AND "
        "g.instance_pk = l.instance_pk WHERE e.pk IS NULL OR g.pk IS NULL"
    ),
    "a line of a bank account or card without a transaction": (
        "SELECT l.id FROM line_entries l JOIN ledgers g ON g.pk = l.ledger_pk LEFT JOIN transactions t ON "
        "t.line_entry_pk = l.pk WHERE g.report_cash_flow AND g.financial_account_type IS NOT NULL AND t.id IS NULL"
    ),
    "a transaction that is not of a line of a financial account": (
        "SELECT t.id FROM transactions t LEFT JOIN line_entries l ON l.pk = t.line_entry_pk LEFT JOIN ledgers g ON "
        "g.pk = l.ledger_pk WHERE g.financial_account_type IS NULL"
    ),
    "an entry whose cash ledger is not one of its lines, or that touches cash and has none": (
        "SELECT e.id FROM journal_entries e JOIN line_entries l ON l.journal_entry_pk = e.pk JOIN ledgers g ON "
        "g.pk = l.ledger_pk AND g.report_cash_flow GROUP BY e.pk, e.id, e.cash_ledger_pk "
        "HAVING sum(CASE WHEN g.pk = e.cash_ledger_pk THEN 1 ELSE 0 END) = 0"
    ),
    "an instance without its four required ledgers": (
        "SELECT i.id FROM instances i LEFT JOIN ledgers g ON g.instance_pk = i.pk AND g.is_required "
        "GROUP BY i.pk, i.id HAVING count(g.pk) <> 4"
    ),
}


def broken_invariants(store):
    """Return what is wrong with the books of a store: what must hold, and the id of what breaks it."""
    with store.reading() as connection:
        found = [(text, one) for text, query in _QUERIES.items() for one in connection.exec_driver_sql(query).scalars()]
        if connection.dialect.name == "sqlite":
            checked = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            found += [("a damaged file", one) for one in checked if one != "ok"]
        return found + _not_as_audited(connection)


def _not_as_audited(connection):
    """Transactions that were changed without an audit row, and lines that are not where their last row moved them."""
    audit, found, last = tables.audit.c, [], {}
    of_changes = audit.operation == "recategorize_transaction"
    for row in connection.execute(tables.audit.select().where(of_changes).order_by(audit.pk)):
        for line, ledger in row.before.items():
            if last.get((row.instance_pk, line), ledger) != ledger:
                found.append(("a change between two rows of the audit log is missing", line))
        last |= {(row.instance_pk, line): ledger for line, ledger in row.after.items()}
    lines = "SELECT l.instance_pk, l.id, g.id FROM line_entries l JOIN ledgers g ON g.pk = l.ledger_pk"
    ledgers = {(instance, line): ledger for instance, line, ledger in connection.exec_driver_sql(lines)}
    found += [
        ("a line is not on the ledger of its last change", line) for line in last if ledgers.get(line) != last[line]
    ]
    by_user = "SELECT instance_pk, id FROM transactions WHERE categorization_method = 'user'"
    changed = "SELECT instance_pk, transaction_id FROM audit WHERE operation = 'recategorize_transaction'"
    users, rows = ({tuple(row) for row in connection.exec_driver_sql(query)} for query in (by_user, changed))
    return found + [
        ("a transaction changed by a user without an audit row, or the reverse", one) for one in users ^ rows
    ]
