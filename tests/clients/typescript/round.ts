// A round through the store with the types that openapi-typescript makes of its OpenAPI document:
// what an integrator does in a day, checked by the compiler and against a running host.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const store = createClient<paths>({
  baseUrl: process.env["STORE_ROOT"] ?? "",
  headers: {
    Accept: "application/vnd.api+json",
    Authorization: `Bearer ${process.env["STORE_TOKEN"]}`,
  },
});

interface Outcome<T> {
  data?: T;
  error?: components["schemas"]["errors"];
  response: Response;
}

/** The document of a request that succeeds. */
async function succeeds<T>(request: Promise<Outcome<T>>, status: number): Promise<T & {}> {
  const { data, error, response } = await request;
  assert.equal(response.status, status, JSON.stringify(error));
  assert.ok(data !== undefined && data !== null);
  return data;
}

/** The first error of a request that fails. */
async function fails(request: Promise<Outcome<unknown>>, status: number) {
  const { error, response } = await request;
  assert.equal(response.status, status);
  const first = error?.errors[0];
  assert.ok(first);
  return first;
}

function tag(response: Response): string {
  const found = response.headers.get("etag");
  assert.ok(found);
  return found;
}

async function list() {
  const page = await succeeds(
    store.GET("/products", {
      params: {
        query: {
          "fields[products]": ["product_name", "price", "upc"],
          "fields[manufacturers]": ["manufacturer_name"],
          include: ["manufacturer"],
          sort: "-price",
          "filter[enabled]": 1,
          "page[offset]": 2,
          "page[limit]": 3,
        },
      },
    }),
    200,
  );
  assert.equal(page.data.length, 3);
  for (const { attributes } of page.data) {
    assert.deepEqual(Object.keys(attributes).sort(), ["price", "product_name", "upc"]);
  }
  const prices = page.data.map(({ attributes }) => Number(attributes.price));
  assert.deepEqual(prices, [...prices].sort((one, other) => other - one));
  assert.ok(page.included && page.included.every(({ type }) => type === "manufacturers"));

  let seen = 0;
  for (let more = true; more; ) {
    const query = { "page[offset]": seen, "page[limit]": 25 };
    const { data, links, meta } = await succeeds(store.GET("/products", { params: { query } }), 200);
    seen += data.length;
    more = links.next !== undefined;
    assert.equal(more, seen < meta.total);
  }
}

async function write() {
  const create = () =>
    store.POST("/manufacturers", {
      params: { header: { "Idempotency-Key": key } },
      body: { manufacturer_name: "Birch and Oak", enabled: true },
    });
  const key = randomUUID();
  const made = await create();
  const first = await succeeds(Promise.resolve(made), 201);
  const again = await create();
  assert.deepEqual(again.data, first);
  assert.equal(made.response.headers.get("idempotent-replayed"), null);
  assert.equal(again.response.headers.get("idempotent-replayed"), "true");
  assert.equal(made.response.headers.get("location"), first.data.links.self);

  const path = { id: Number(first.data.id) };
  const known = { "If-Match": tag(made.response) };
  const change = (ordering: number, header: { "If-Match"?: string }) =>
    store.PATCH("/manufacturers/{id}", { params: { path, header }, body: { ordering } });
  const changed = await change(7, known);
  assert.equal((await succeeds(Promise.resolve(changed), 200)).data.attributes.ordering, 7);
  const conflict = await fails(change(8, known), 412);
  assert.equal(conflict.code, "version_mismatch");
  assert.equal(conflict.meta?.current_version, first.data.meta.version + 1);

  const header = { "If-None-Match": tag(changed.response) };
  const same = await store.GET("/manufacturers/{id}", { params: { path, header } });
  assert.equal(same.response.status, 304);

  const document = { data: { type: "manufacturers" as const, attributes: { enabled: 2 as 1 } } };
  const wrong = store.PATCH("/manufacturers/{id}", { params: { path }, body: document });
  assert.equal((await fails(wrong, 422)).source?.pointer, "/data/attributes/enabled");

  const current = { "If-Match": tag(changed.response) };
  const removal = { params: { path, header: current } };
  assert.equal((await store.DELETE("/manufacturers/{id}", removal)).response.status, 204);
  const gone = store.GET("/manufacturers/{id}", { params: { path } });
  assert.equal((await fails(gone, 404)).code, "record_not_found");
}

async function order() {
  const made = await succeeds(
    store.POST("/orders", {
      params: { header: { "Idempotency-Key": randomUUID() } },
      body: {
        user_email: "ada@example.com",
        items: [
          { product_id: 1, orderitem_quantity: 2, orderitem_price: "19.99" },
          { product_id: 2, orderitem_quantity: 1, orderitem_price: "0.02" },
        ],
      },
    }),
    201,
  );
  assert.equal(made.data.attributes.order_total, "40.00");
  const path = { id: Number(made.data.id) };
  const items = await succeeds(store.GET("/orders/{id}/items", { params: { path } }), 200);
  const amounts = items.data.map(({ attributes }) => attributes.orderitem_finalprice);
  assert.deepEqual(amounts, ["39.98", "0.02"]);

  const entry = await succeeds(
    store.POST("/orders/{id}/history", {
      params: { path, header: { "If-Match": `"${made.data.meta.version}"` } },
      body: { order_state_id: 7, notify_customer: 0, comment: "Handed over to the carrier." },
    }),
    201,
  );
  assert.equal(entry.meta?.order_version, made.data.meta.version + 1);
  const query = { include: ["history.orderstatus" as const] };
  const whole = await succeeds(store.GET("/orders/{id}", { params: { path, query } }), 200);
  assert.equal(whole.data.attributes.orderstatus_name, "Shipped");
  assert.equal(whole.data.relationships?.history?.data?.length, 2);
}

async function ship() {
  const made = await succeeds(
    store.POST("/orders", {
      body: {
        user_email: "ada@example.com",
        is_shippable: 1,
        shipping_city: "Vienna",
        items: [{ product_id: 1, orderitem_quantity: 3 }],
      },
    }),
    201,
  );
  const path = { id: Number(made.data.id) };
  const items = await succeeds(store.GET("/orders/{id}/items", { params: { path } }), 200);
  const orderitem_id = Number(items.data[0]?.id);
  const parcel = (quantity: number) =>
    store.POST("/orders/{id}/shipments", {
      params: { path },
      body: { tracking_id: "P1", items: [{ orderitem_id, quantity }] },
    });
  const sent = await succeeds(parcel(2), 201);
  assert.deepEqual(sent.data.attributes.items, [{ orderitem_id, quantity: 2 }]);
  const refused = await fails(parcel(2), 422);
  assert.equal(refused.code, "over_fulfilled");
  assert.equal(refused.meta?.open, 1);
  const query = {
    "filter[state]": "partial" as const,
    include: ["items" as const, "shipments" as const],
    "page[limit]": 100,
  };
  const open = await succeeds(store.GET("/fulfilments", { params: { query } }), 200);
  const last = open.data.find(({ id }) => id === made.data.id);
  assert.equal(last?.attributes.shipping_city, "Vienna");
  assert.equal(last?.relationships?.shipments?.data?.length, 1);
  const fix = store.PATCH("/shipments/{id}", {
    params: { path: { id: Number(sent.data.id) } },
    body: { tracking_id: "P2" },
  });
  assert.equal((await succeeds(fix, 200)).data.attributes.tracking_id, "P2");
}

async function refund() {
  const made = await succeeds(
    store.POST("/orders", {
      body: {
        user_email: "ada@example.com",
        items: [{ product_id: 1, orderitem_quantity: 3, orderitem_price: "3.3333" }],
      },
    }),
    201,
  );
  assert.equal(made.data.meta.refundable?.amount, "10.00");
  const path = { id: Number(made.data.id) };
  const items = await succeeds(store.GET("/orders/{id}/items", { params: { path } }), 200);
  const orderitem_id = Number(items.data[0]?.id);
  const give = (quantity: number) =>
    store.POST("/orders/{id}/refunds", {
      params: { path },
      body: { reason: "Returned", items: [{ orderitem_id, quantity }] },
    });
  const two = await succeeds(give(2), 201);
  assert.equal(two.data.attributes.items?.[0]?.amount, "6.67");
  const refused = await fails(give(2), 422);
  assert.equal(refused.code, "over_refunded");
  assert.deepEqual(refused.meta?.left, { quantity: 1, amount: "3.33" });
  const undo = store.POST("/orders/{id}/refunds/{refund_id}/reverse", {
    params: { path: { ...path, refund_id: Number(two.data.id) } },
    body: { reason: "Wrong order" },
  });
  assert.equal((await succeeds(undo, 201)).data.attributes.amount, "-6.67");
  const whole = await succeeds(store.GET("/orders/{id}", { params: { path } }), 200);
  const left = whole.data.meta.refundable?.items[orderitem_id];
  assert.deepEqual(left, { quantity: 3, amount: "10.00" });
}

async function adjust() {
  const voucher = await succeeds(
    store.POST("/vouchers", { body: { voucher_value: "50", email_to: "ada@example.com" } }),
    201,
  );
  const path = { id: Number(voucher.data.id) };
  const debit = (amount: string) =>
    store.POST("/vouchers/{id}/adjust", {
      params: { path },
      body: { adjustment_type: "debit", amount, reason: "Paid at the till" },
    });
  const rest = await succeeds(debit("12.50"), 200);
  assert.equal(rest.data.attributes.remaining_balance, "37.50");
  assert.equal((await fails(debit("40"), 422)).code, "refused");
}

async function stock() {
  const path = { id: 1 };
  const before = await succeeds(store.GET("/inventory/{id}", { params: { path } }), 200);
  const { sku = "", quantity = 0 } = before.data.attributes;
  const change = (quantity_delta: number, expected_quantity: number | null) =>
    store.POST("/inventory/{id}/adjust", {
      params: { path },
      body: { quantity_delta, expected_quantity, reason: "Counted" },
    });
  const after = await succeeds(change(5, quantity), 200);
  assert.equal(after.data.attributes.quantity, quantity + 5);
  const changed = await fails(change(5, quantity), 422);
  assert.equal(changed.code, "stock_changed");
  assert.equal(changed.meta?.quantity, quantity + 5);
  assert.equal((await fails(change(-quantity - 6, null), 422)).code, "insufficient_stock");

  const adjustments = [
    { sku, quantity_delta: -3, reason: "Sold" },
    { shop_product_id: 2, quantity_delta: 1, reason: "Delivered", reference: "D-4711" },
  ];
  const body = { adjustments };
  const both = await succeeds(store.POST("/inventory/adjust", { body }), 200);
  assert.deepEqual(both.data.map(({ id }) => id), ["1", "2"]);
  const query = { "page[limit]": 2 };
  const ledger = await succeeds(
    store.GET("/inventory/{id}/ledger", { params: { path, query } }),
    200,
  );
  const deltas = ledger.data.map(({ attributes }) => attributes.quantity_delta);
  assert.deepEqual(deltas, [-3, 5]);
}

async function vary() {
  const variants = ["M", "L"].map((Size) => ({ options: { Size }, quantity: 1 }));
  const body = { product_name: "Shirt", price: "20", variants };
  const shirt = await succeeds(store.POST("/products", { body }), 201);
  assert.equal(shirt.data.attributes.quantity, 2);
  const path = { id: Number(shirt.data.id) };
  const all = await succeeds(store.GET("/products/{id}/variants", { params: { path } }), 200);
  const further = all.data.filter(({ attributes }) => !attributes.is_master);
  const keys = further.map(({ id }) => Number(id));
  const [medium = 0, large = 0] = keys;
  const sell = (named: { variant_id: number } | { product_id: number }) =>
    store.POST("/orders", {
      body: { user_email: "ada@example.com", items: [{ ...named, take_stock: 1 as const }] },
    });
  const sold = await succeeds(sell({ variant_id: medium }), 201);
  const order = { path: { id: Number(sold.data.id) } };
  const items = await succeeds(store.GET("/orders/{id}/items", { params: order }), 200);
  assert.equal(items.data[0]?.attributes.orderitem_name, "Shirt, M");
  assert.equal((await fails(sell({ variant_id: medium }), 422)).code, "insufficient_stock");
  const unnamed = await fails(sell({ product_id: path.id }), 422);
  assert.equal(unnamed.code, "variant_required");
  assert.deepEqual(unnamed.meta?.variants, keys);
  const params = { path: { id: large } };
  const price = store.PATCH("/variants/{id}", { params, body: { price: "22.5" } });
  assert.equal((await succeeds(price, 200)).data.attributes.price_follows_product, 0);
}

async function transfer() {
  const table = "zone_name,zone_code,country_id\r\nUpper Valley,UV,1\r\nLower Valley,LV,none\r\n";
  const lines = "application/x-ndjson";
  const reply = store.POST("/imports", {
    params: { query: { type: "zones", mode: "create" } },
    headers: { Accept: lines, "Content-Type": "text/csv" },
    body: table,
    bodySerializer: (body: string) => body,
    parseAs: "text",
  });
  const parsed = (text: string) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const report = parsed(await succeeds(reply, 200));
  assert.deepEqual(report.slice(0, -1).map(({ result }) => result), ["created", "failed"]);
  assert.equal(report.at(-1).summary.created, 1);
  const path = { type: "zones" as const };
  const options = { params: { path }, headers: { Accept: lines }, parseAs: "text" as const };
  const exported = store.GET("/exports/{type}", options);
  const [header, ...zones] = parsed(await succeeds(exported, 200));
  assert.equal(header.export.type, "zones");
  assert.equal(zones.at(-1).zone_code, "UV");
}

async function forget() {
  const email = "rosa@example.com";
  await succeeds(store.POST("/orders", { body: { user_email: email, items: [{ product_id: 1 }] } }), 201);
  const copy = async () => {
    const copied = await succeeds(store.POST("/privacy/export", { body: { email } }), 200);
    return copied.data.attributes.parts["webservices-shop"];
  };
  assert.deepEqual(Object.keys((await copy()) ?? {}), ["orders", "orderitems", "orderhistories"]);
  const erase = (force: 0 | 1) =>
    store.POST("/privacy/erase", { body: { email, reason: "asked by letter", force } });
  assert.equal((await fails(erase(0), 422)).code, "refused");
  const erased = await succeeds(erase(1), 200);
  const shop = erased.data.attributes.parts["webservices-shop"];
  assert.equal(shop?.counts["orders"], 1);
  assert.deepEqual(shop?.remaining, {});
  assert.deepEqual(await copy(), {});
}

async function report() {
  const query = { "filter[period]": "month" as const, "fields[reports]": ["net_sales" as const] };
  const sales = await succeeds(store.GET("/reports/sales", { params: { query } }), 200);
  assert.ok(sales.data.every(({ attributes }) => Object.keys(attributes).join() === "net_sales"));
  assert.ok(sales.meta.totals.every(({ orders, net_sales }) => orders > 0 && Number(net_sales) > 0));
  const config = await succeeds(store.GET("/config"), 200);
  assert.equal(config.data.attributes.default_currency, "EUR");
}

await list();
await write();
await order();
await ship();
await refund();
await adjust();
await stock();
await vary();
await transfer();
await forget();
await report();
console.log("The round is done.");
