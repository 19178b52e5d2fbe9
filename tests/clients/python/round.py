"""A round through the store with the client that openapi-python-client makes of its OpenAPI document:
what an integrator does in a day, against a running host."""

import io
import json
import os
import uuid
from decimal import Decimal

from online_store_client import AuthenticatedClient
from online_store_client import models as m
from online_store_client.api.config import config_show
from online_store_client.api.exports import exports_export
from online_store_client.api.imports import imports_create
from online_store_client.api.inventory import (
    inventory_adjust,
    inventory_adjust_all,
    inventory_show,
)
from online_store_client.api.manufacturers import (
    manufacturers_create,
    manufacturers_delete,
    manufacturers_show,
    manufacturers_update,
)
from online_store_client.api.orderfulfilments import orderfulfilments_show
from online_store_client.api.orderhistories import orderhistories_create
from online_store_client.api.orderitems import orderitems_list_of_orders
from online_store_client.api.orderrefunds import orderrefunds_create, orderrefunds_reverse
from online_store_client.api.orders import orders_create, orders_show
from online_store_client.api.privacy import privacy_erase, privacy_export
from online_store_client.api.products import products_create, products_list
from online_store_client.api.reports import reports_sales
from online_store_client.api.shipments import shipments_create
from online_store_client.api.stockmovements import stockmovements_list_of_inventory
from online_store_client.api.variants import variants_list_of_products, variants_update
from online_store_client.api.vouchers import vouchers_adjust, vouchers_create
from online_store_client.types import UNSET, File



def reader_of(media_type):
    return AuthenticatedClient(
        base_url=os.environ["STORE_ROOT"],
        token=os.environ["STORE_TOKEN"],
        headers={"Accept": media_type},
        raise_on_unexpected_status=True,
    )


store = reader_of("application/vnd.api+json")


def succeeds(response, status, kind):
    """The document of an answer."""
    assert response.status_code == status, response.content
    assert isinstance(response.parsed, kind), response.parsed
    return response.parsed


def fails(response, status):
    """The first error of an answer."""
    return succeeds(response, status, m.Errors).errors[0]


def listed():
    page = products_list.sync_detailed(
        client=store,
        fieldsproducts=[
            m.ProductsListFieldsproductsItem.PRODUCT_NAME,
            m.ProductsListFieldsproductsItem.PRICE,
            m.ProductsListFieldsproductsItem.UPC,
        ],
        fieldsmanufacturers=[m.ProductsListFieldsmanufacturersItem.MANUFACTURER_NAME],
        include=[m.ProductsListIncludeItem.MANUFACTURER, m.ProductsListIncludeItem.TAXPROFILE],
        sort=m.ProductsListSort.PRICE_DESCENDING,
        filterenabled=True,
        pageoffset=2,
        pagelimit=3,
    )
    page = succeeds(page, 200, m.ProductsList)
    assert len(page.data) == 3
    for record in page.data:
        assert set(record.attributes.to_dict()) == {"product_name", "price", "upc"}
        assert record.attributes.sku is UNSET
    prices = [Decimal(record.attributes.price) for record in page.data]
    assert prices == sorted(prices, reverse=True)
    assert {record.type_ for record in page.included} == {"manufacturers", "taxprofiles"}

    seen = 0
    more = True
    while more:
        page = products_list.sync_detailed(client=store, pageoffset=seen, pagelimit=25)
        page = succeeds(page, 200, m.ProductsList)
        seen += len(page.data)
        more = page.links.next_ is not UNSET
        assert more == (seen < page.meta.total)


def written():
    key = str(uuid.uuid4())

    def create():
        body = m.ManufacturersNew(manufacturer_name="Birch and Oak", enabled=True)
        return manufacturers_create.sync_detailed(client=store, body=body, idempotency_key=key)

    made, again = create(), create()
    first = succeeds(made, 201, m.ManufacturersDocument)
    assert made.content == again.content
    assert "Idempotent-Replayed" not in made.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert made.headers["Location"] == first.data.links.self_

    number = int(first.data.id)

    def change(ordering, tag):
        body = m.ManufacturersChange(ordering=ordering)
        return manufacturers_update.sync_detailed(number, client=store, body=body, if_match=tag)

    tag = made.headers["ETag"]
    changed = change(7, tag)
    assert succeeds(changed, 200, m.ManufacturersDocument).data.attributes.ordering == 7
    conflict = fails(change(8, tag), 412)
    assert conflict.code == "version_mismatch"
    assert conflict.meta.current_version == first.data.meta.version + 1

    tag = changed.headers["ETag"]
    same = manufacturers_show.sync_detailed(number, client=store, if_none_match=tag)
    assert same.status_code == 304 and same.content == b""

    attributes = m.ManufacturersChange(ordering=2**40)
    document = m.ManufacturersChangeDocument(
        data=m.ManufacturersChangeDocumentData(attributes=attributes, type_="manufacturers")
    )
    wrong = manufacturers_update.sync_detailed(number, client=store, body=document)
    assert fails(wrong, 422).source.pointer == "/data/attributes/ordering"

    removed = manufacturers_delete.sync_detailed(number, client=store, if_match=tag)
    assert removed.status_code == 204
    gone = manufacturers_show.sync_detailed(number, client=store)
    assert fails(gone, 404).code == "record_not_found"


def ordered():
    items = [
        m.OrderitemsNew(product_id=1, orderitem_quantity=2, orderitem_price="19.99"),
        m.OrderitemsNew(product_id=2, orderitem_quantity=1, orderitem_price="0.02"),
    ]
    made = orders_create.sync_detailed(
        client=store,
        body=m.OrdersNew(user_email="ada@example.com", items=items),
        idempotency_key=str(uuid.uuid4()),
    )
    made = succeeds(made, 201, m.OrdersDocument)
    assert made.data.attributes.order_total == "40.00"
    number, version = int(made.data.id), made.data.meta.version
    lines = succeeds(
        orderitems_list_of_orders.sync_detailed(number, client=store), 200, m.OrderitemsList
    )
    amounts = [line.attributes.orderitem_finalprice for line in lines.data]
    assert amounts == ["39.98", "0.02"]

    entry = orderhistories_create.sync_detailed(
        number,
        client=store,
        body=m.OrderhistoriesNew(order_state_id=7, comment="Handed over to the carrier."),
        if_match=f'"{version}"',
    )
    assert succeeds(entry, 201, m.OrderhistoriesDocument).meta.order_version == version + 1
    whole = orders_show.sync_detailed(
        number, client=store, include=[m.OrdersShowIncludeItem.HISTORY_ORDERSTATUS]
    )
    whole = succeeds(whole, 200, m.OrdersDocument)
    assert whole.data.attributes.orderstatus_name == "Shipped"
    assert len(whole.data.relationships.history.data) == 2


def shipped():
    items = [m.OrderitemsNew(product_id=1, orderitem_quantity=3)]
    order = m.OrdersNew(
        user_email="ada@example.com", is_shippable=1, shipping_city="Vienna", items=items
    )
    made = succeeds(orders_create.sync_detailed(client=store, body=order), 201, m.OrdersDocument)
    number = int(made.data.id)
    lines = orderitems_list_of_orders.sync_detailed(number, client=store)
    item = int(succeeds(lines, 200, m.OrderitemsList).data[0].id)

    def parcel(quantity):
        line = m.ShipmentsLineNew(orderitem_id=item, quantity=quantity)
        body = m.ShipmentsShipmentNew(tracking_id="P1", items=[line])
        return shipments_create.sync_detailed(number, client=store, body=body)

    sent = succeeds(parcel(2), 201, m.ShipmentsDocument)
    assert [line.quantity for line in sent.data.attributes.items] == [2]
    refused = fails(parcel(2), 422)
    assert (refused.code, refused.meta.open_) == ("over_fulfilled", 1)
    whole = succeeds(
        orderfulfilments_show.sync_detailed(
            number, client=store, include=[m.OrderfulfilmentsShowIncludeItem.SHIPMENTS]
        ),
        200,
        m.OrderfulfilmentsDocument,
    )
    assert whole.data.attributes.shipping_city == "Vienna"
    assert len(whole.data.relationships.shipments.data) == 1


def refunded():
    items = [m.OrderitemsNew(product_id=1, orderitem_quantity=3, orderitem_price="3.3333")]
    order = m.OrdersNew(user_email="ada@example.com", items=items)
    made = succeeds(orders_create.sync_detailed(client=store, body=order), 201, m.OrdersDocument)
    assert made.data.meta.to_dict()["refundable"]["amount"] == "10.00"
    number = int(made.data.id)
    lines = orderitems_list_of_orders.sync_detailed(number, client=store)
    item = int(succeeds(lines, 200, m.OrderitemsList).data[0].id)

    def give(quantity):
        line = m.OrderrefundsLineNew(orderitem_id=item, quantity=quantity)
        body = m.OrderrefundsRefundNew(reason="Returned", items=[line])
        return orderrefunds_create.sync_detailed(number, client=store, body=body)

    two = succeeds(give(2), 201, m.OrderrefundsDocument)
    assert [line.amount for line in two.data.attributes.items] == ["6.67"]
    refused = fails(give(2), 422)
    assert (refused.code, refused.meta.left.amount) == ("over_refunded", "3.33")
    undone = orderrefunds_reverse.sync_detailed(
        number,
        int(two.data.id),
        client=store,
        body=m.OrderrefundsReversalNew(reason="Wrong order"),
    )
    undone = succeeds(undone, 201, m.OrderrefundsDocument)
    assert undone.data.attributes.amount == "-6.67"
    whole = succeeds(orders_show.sync_detailed(number, client=store), 200, m.OrdersDocument)
    left = whole.data.meta.to_dict()["refundable"]["items"][str(item)]
    assert left == {"quantity": 3, "amount": "10.00"}


def adjusted():
    body = m.VouchersNew(voucher_value="50", email_to="ada@example.com")
    voucher = succeeds(
        vouchers_create.sync_detailed(client=store, body=body), 201, m.VouchersDocument
    )

    def debit(amount):
        body = m.VouchersAdjustmentNew(
            adjustment_type=m.VouchersAdjustmentNewAdjustmentType.DEBIT,
            amount=amount,
            reason="Paid at the till",
        )
        return vouchers_adjust.sync_detailed(int(voucher.data.id), client=store, body=body)

    rest = succeeds(debit("12.50"), 200, m.VouchersBalanceDocument)
    assert rest.data.attributes.remaining_balance == "37.50"
    assert fails(debit("40"), 422).code == "refused"


def stocked():
    before = inventory_show.sync_detailed(1, client=store)
    before = succeeds(before, 200, m.InventoryDocument).data.attributes

    def change(delta, expected):
        body = m.InventoryAdjustmentNew(
            quantity_delta=delta, expected_quantity=expected, reason="Counted"
        )
        return inventory_adjust.sync_detailed(1, client=store, body=body)

    after = succeeds(change(5, before.quantity), 200, m.InventoryDocument)
    assert after.data.attributes.quantity == before.quantity + 5
    changed = fails(change(5, before.quantity), 422)
    assert (changed.code, changed.meta.quantity) == ("stock_changed", before.quantity + 5)
    assert fails(change(-before.quantity - 6, None), 422).code == "insufficient_stock"

    steps = [
        m.InventoryStepNew(sku=before.sku, quantity_delta=-3, reason="Sold"),
        m.InventoryStepNew(shop_product_id=2, quantity_delta=1, reason="Delivered"),
    ]
    body = m.InventoryAdjustmentsNew(adjustments=steps)
    both = inventory_adjust_all.sync_detailed(client=store, body=body)
    both = succeeds(both, 200, m.InventoryRecords)
    assert [record.id for record in both.data] == ["1", "2"]
    ledger = stockmovements_list_of_inventory.sync_detailed(1, client=store, pagelimit=2)
    ledger = succeeds(ledger, 200, m.StockmovementsList)
    assert [entry.attributes.quantity_delta for entry in ledger.data] == [-3, 5]


def varied():
    variants = [
        m.VariantsNew(options=m.VariantsNewOptions.from_dict({"Size": size}), quantity=1)
        for size in ["M", "L"]
    ]
    body = m.ProductsNew(product_name="Shirt", price="20", variants=variants)
    shirt = products_create.sync_detailed(client=store, body=body)
    shirt = succeeds(shirt, 201, m.ProductsDocument)
    assert shirt.data.attributes.quantity == 2
    number = int(shirt.data.id)
    rows = variants_list_of_products.sync_detailed(number, client=store)
    rows = succeeds(rows, 200, m.VariantsList).data
    keys = [int(row.id) for row in rows if not row.attributes.is_master]

    def sell(item):
        body = m.OrdersNew(user_email="ada@example.com", items=[item])
        return orders_create.sync_detailed(client=store, body=body)

    sold = succeeds(sell(m.OrderitemsNew(variant_id=keys[0], take_stock=1)), 201, m.OrdersDocument)
    lines = orderitems_list_of_orders.sync_detailed(int(sold.data.id), client=store)
    lines = succeeds(lines, 200, m.OrderitemsList)
    assert lines.data[0].attributes.orderitem_name == "Shirt, M"
    refused = fails(sell(m.OrderitemsNew(variant_id=keys[0], take_stock=1)), 422)
    assert refused.code == "insufficient_stock"
    unnamed = fails(sell(m.OrderitemsNew(product_id=number, take_stock=1)), 422)
    assert (unnamed.code, unnamed.meta.variants) == ("variant_required", keys)
    change = m.VariantsChange(price="22.5")
    dearer = variants_update.sync_detailed(keys[1], client=store, body=change)
    dearer = succeeds(dearer, 200, m.VariantsDocument)
    assert dearer.data.attributes.price_follows_product == 0


def transferred():
    reader = reader_of("application/x-ndjson")

    def imported(rows):
        table = io.BytesIO("\r\n".join(["zone_name,zone_code,country_id", *rows, ""]).encode())
        response = imports_create.sync_detailed(
            client=reader,
            type_=m.ImportsCreateType.ZONES,
            mode=m.ImportsCreateMode.CREATE,
            body=File(payload=table),
        )
        assert response.status_code == 200, response.content
        return [json.loads(line) for line in response.content.splitlines() if line]

    *results, end = imported(["Upper Valley,UV,1", "Lower Valley,LV,none"])
    assert [line["result"] for line in results] == ["created", "failed"]
    assert results[1]["errors"][0]["source"]["pointer"].endswith("/country_id")
    assert (end["summary"]["created"], end["summary"]["failed"]) == (1, 1)
    exported = exports_export.sync_detailed(m.ExportsExportType.ZONES, client=reader)
    header, *zones = [json.loads(line) for line in exported.content.splitlines()]
    assert header["export"]["type"] == "zones"
    assert {"zone_code": "UV", "zone_name": "Upper Valley"}.items() <= zones[-1].items()


def forgotten():
    email = "rosa@example.com"
    body = m.OrdersNew(user_email=email, items=[m.OrderitemsNew(product_id=1)])
    succeeds(orders_create.sync_detailed(client=store, body=body), 201, m.OrdersDocument)

    def copied():
        body = m.PrivacyPersonNew(email=email)
        copy = privacy_export.sync_detailed(client=store, body=body)
        copy = succeeds(copy, 200, m.PrivacyExportDocument)
        return copy.data.attributes.parts.to_dict()["webservices-shop"]

    assert [order["user_email"] for order in copied()["orders"]] == [email]
    body = m.PrivacyErasureNew(email=email, reason="asked by letter")
    refused = fails(privacy_erase.sync_detailed(client=store, body=body), 422)
    assert len(refused.meta.to_dict()["open"]) == 1
    body.force = 1
    erased = privacy_erase.sync_detailed(client=store, body=body)
    erased = succeeds(erased, 200, m.PrivacyEraseDocument)
    shop = erased.data.attributes.parts["webservices-shop"]
    assert shop.counts["orders"] == 1
    assert shop.remaining.to_dict() == {}
    assert copied() == {}


def reported():
    sales = reports_sales.sync_detailed(
        client=store,
        filterperiod=m.ReportsSalesFilterperiodType0.MONTH,
        fieldsreports=[m.ReportsSalesFieldsreportsItem.NET_SALES],
    )
    sales = succeeds(sales, 200, m.ReportsSalesList)
    assert all(set(row.attributes.to_dict()) == {"net_sales"} for row in sales.data)
    assert all(total.orders > 0 and Decimal(total.net_sales) > 0 for total in sales.meta.totals)
    config = succeeds(config_show.sync_detailed(client=store), 200, m.ConfigDocument)
    assert config.data.attributes.default_currency == "EUR"


listed()
written()
ordered()
shipped()
refunded()
adjusted()
stocked()
varied()
transferred()
forgotten()
reported()
print("The round is done.")
