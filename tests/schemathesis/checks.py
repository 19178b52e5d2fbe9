"""The rules of this API that its OpenAPI document cannot express, for Schemathesis.

A value that fits its schema may still break a rule that a schema of a single value cannot express. The store
answers these with a 422. Any other refusal of valid data is a finding, as it is with the check
`positive_data_acceptance`, which `refuses_valid_data_only_by_a_rule` replaces. The lists below contain all remaining
findings, each with its reason.
"""

import atexit
import itertools
import pathlib
import re

import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection, use_after_free

# Codes of refusals that depend on the database, each with an example.
CODES = {
    "duplicate": "a currency with the code of another one",
    "missing_reference": "a product of a manufacturer that does not exist",
    "referenced": "the deletion of a country that has zones",
    "refused": "the deletion of a core order status",
    "insufficient_stock": "more pieces taken than are in stock",
    "stock_changed": "another quantity than the client expects",
    "stock_is_with_variants": "the quantity of a product with variants",
    "variant_required": "an adjustment of a product with variants that does not name one of them",
    "invalid_table": "a file without the columns of the type that the query names: a schema knows one of them only",
    "file_changed": "another file than the interrupted import had",
    "over_refunded": "a refund of an order of which nothing is left",
    "already_reversed": "a second reversal of a refund",
    "over_fulfilled": "a shipment of an order of which nothing is open",
    "too_many_faults": "more adjustments of products that do not exist than are reported",
}

# Refusals by a rule between two values, or of a value that JSON Schema cannot tell from others.
DETAILS = {
    r"must not be before": "two days or moments in the wrong order",
    r"at most \d digits? after the decimal point": "a JSON number in binary floating point, "
    "whose shortest text has more digits; as a string it would not fit its pattern",
    r"must be at least 0\.0+1": "a JSON number greater than 0 that is less than the smallest unit",
    r"must be a (list of )?whole numbers?": "20863.0, which JSON Schema considers a whole number",
    r"more than 10000 periods": "two days that are too far apart for the requested periods",
    r"(is|would be) too large": "a sum, a product or a converted price beyond the greatest one",
    r"must not exceed the price of the line": "a discount of more than the price",
    r"Only a correction may be negative": "a credit or a debit of a negative amount",
    r"the amount already spent": "a value of a voucher below what has been spent of it",
    r"A refund needs items|quantity or amount is required": "a refund of nothing",
    r"must have at most \d decimals, as": "an amount that the currency of the order cannot express",
    r"restock needs a quantity": "an amount of an item that goes back into the stock",
    r"must be at least .*, the sum of its refunds": "a refund set below the recorded ones",
    r"must be an enabled order status": "a status that does not exist or is disabled",
    r"cannot be disabled": "a core order status, or the default currency of the store",
    r"(amount|quantity_delta) must not be zero": "an adjustment by 0",
    r"[Ee]ither sku or (shop_product_id|variant_id)": "an adjustment of a product or a variant with two names or "
    "with none",
    r"A variant has 1 to 5 options": "the options of a master variant: one schema is for all variants",
    r"^quantity must be a number": "the quantity of a variant, which only a master variant has as null",
    r"The quantity of the product is the sum": "a new product with a quantity beside variants that have theirs",
    r"have no parts\.$": "the parts of a type that has none, among the exports of all types",
    r"^Give email or user_id, or both\.$": "a person who is named by neither of two fields",
    r"^(currency_code|order_id) must be at most": "a code, at whose ends any amount of white space may stand",
    r"must be a variant of the product": "an item of an order with a variant of another product",
    r"variants of a product name the same options": "other options than the product's",
    r"Only one variant of a product can be": "two variants of a new product, each the default",
    r"A price that follows the product's": "a price, and price_follows_product beside it",
    r"^(Two options have the same name|The value of .* must be a string|A name and a value have 1 to 64)": "free "
    "JSON, whose names and values the store looks at",
    r"There is no stock record of|take_stock needs a product": "an item of an order that has no stock",
    r"must be one of -2, 0, 1, 2": "the state -1 of a category, in a range that has it",
    r"(order_id|currency_code|voucher_code) must not be empty": "a reference or a code that is given "
    "where a new record has none, and cannot be taken away later",
    r"cannot be its own descendant": "a category as its own parent",
    r"at most 100\b": "a coupon of more than 100 percent: its type says what its value is",
    r"cannot be used in a list of changes|must be a cursor|needs filter\[modified_since\]": "a page of changes that "
    "is found by an offset, or by a cursor that no page has",
    r"sort cannot be combined with": "two orders of one list",
    r"must be a cursor as links\.next has it": "a cursor that no store has made",
    r"more than 5000 records to include": "a page with too many items",
    r"^key must be one of": "the unique field of another type than the one that is imported",
    r"refer to different records": "an attribute and a relationship that disagree",
    r"^id must be": "the id of another record than that in the path",
    r"alias must not contain a slash": "an alias, whose schema is that of any text",
    r"tracking_url must be a URL": "a host name of characters that no name may have",
    r"exactly one header Content-Type": "a request whose body was left out",
    r"^The (address|port) ": "an address to which the host sends nothing",
    r"^types: there is no type": "a type that the feed of changes does not have",
    r"Give either since or cursor": "a replay from two places or from none",
    r"^since is in the future|the feed goes back to|^cursor (is later|is of a feed|must be one that follows)": "a place "
    "that the feed of changes does not have",
    r"must not contain a noncharacter": "U+FFFE, for example: languages write patterns of those beyond the basic plane "
    "in different forms",
    r"^(params|orderitem_attributes) must not contain a NUL": "free JSON: a schema of all that is in it would "
    "refer to itself, which generators of clients refuse",
}

keys = itertools.count()

# The operations to which examples of the document were sent, and those of them that succeeded.
sent, succeeded = set(), set()


@schemathesis.serializer("text/csv", "application/x-ndjson")
def send_file(ctx, value):
    """A file of records is sent as it is generated: a text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Gives each request a key of its own: the example is the key of one request only."""
    if case.headers and "Idempotency-Key" in case.headers:
        if case.meta is not None and case.meta.generation.mode.is_positive:
            case.headers["Idempotency-Key"] = f"request-{next(keys)}"


@schemathesis.hook
def after_call(ctx, case, response):
    if case.meta is not None and case.meta.phase.name == "examples":
        sent.add(case.operation.label)
        if 200 <= response.status_code < 300:
            succeeded.add(case.operation.label)


@atexit.register
def write_unreached():
    """Leaves the operations with which no example succeeds to `run.sh`."""
    pathlib.Path("unreached").write_text("".join(f"{label}\n" for label in sorted(sent - succeeded)))


def is_stream(response):
    """Whether an answer is lines of JSON or CSV, and no document."""
    media_type = response.headers.get("content-type", [""])[0]
    return media_type.startswith(("application/x-ndjson", "text/csv"))


@schemathesis.check
def refuses_valid_data_only_by_a_rule(ctx, response, case):
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    if response.status_code not in (400, 415, 422):
        return
    others = [
        error
        for error in response.json()["errors"]
        if error["code"] not in CODES
        and not any(re.search(detail, error["detail"]) for detail in DETAILS)
    ]
    if others:
        raise AssertionError(f"Valid data was refused: {others}")


@schemathesis.check
def refuses_invalid_data(ctx, response, case):
    """The check `negative_data_rejection`, except that null and a list of one empty name are the empty
    list as soon as they are the text of a parameter."""
    empty = ("", None, [""], [None])
    if any(name.startswith("fields[") and value in empty for name, value in (case.query or {}).items()):
        return
    negative_data_rejection(ctx, response, case)


@schemathesis.check
def deleted_records_are_gone(ctx, response, case):
    """The check `use_after_free`, except that a list below a deleted record may be empty. The
    specification requires that, where the check expects a 404."""
    if response.status_code == 200 and not is_stream(response) and response.json().get("data") == []:
        return
    use_after_free(ctx, response, case)
