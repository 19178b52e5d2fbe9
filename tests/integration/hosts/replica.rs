//! Reports from a streaming replica of PostgreSQL, which may lag behind or be unreachable.
//!
//! `TEST_REPLICA` lists the primary and its replica, which `tests/cluster/replica.sh` creates.

use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};

use crate::support::databases::servers;
use crate::support::harness::{Answer, ROOT};
use crate::support::ledger::Client;
use crate::support::process::Place;
use crate::support::proxy::{Line, Proxy};
use crate::support::waiting::eventually;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(replica), ignore = "needs a primary and its replica: TEST_REPLICA")]
async fn reports_are_read_from_the_replica_and_everything_else_is_not() {
    let servers = servers("TEST_REPLICA");
    let place = Place::of_the_store_on(&servers[0]);
    let token = place.user("ann", "Administrator").await;
    let replica = place.database.url_on(&servers[1]);
    let mut at_replica = eventually("the replica has the database", async || {
        PgConnection::connect(&replica).await.ok()
    })
    .await;
    let (_, address) = servers[1].rsplit_once('@').unwrap();
    let proxy = Proxy::to(address.parse().unwrap()).await;
    let reports = replica.replace(address, &proxy.address.to_string());
    let host = place.serve_with(&[("DATABASE_REPORTS_URL", &reports)]).await;
    let client = Client::of(&host, &token);
    let sold = async || {
        let report = client.expect(200, "GET", "/reports/customers", None).await;
        report["meta"]["total"].as_i64().unwrap()
    };
    let report = format!("{ROOT}/reports/customers");
    host.until(200, &report, &token).await;
    let order = json!({"user_email": "ada@example.com", "order_state_id": 1});
    client.create("/orders", order).await;
    eventually("the report has the order", async || (sold().await == 1).then_some(())).await;

    // Records that the replica lacks are in lists but not in the report.
    at_replica.execute("SELECT pg_wal_replay_pause()").await.unwrap();
    let order = json!({"user_email": "ben@example.com", "order_state_id": 1});
    client.create("/orders", order).await;
    assert_eq!(client.all("/orders").await.len(), 2);
    assert_eq!(sold().await, 1);
    at_replica.execute("SELECT pg_wal_replay_resume()").await.unwrap();
    eventually("the report follows", async || (sold().await == 2).then_some(())).await;

    // Without the replica, reports fail and everything else works.
    proxy.set(Line::Cut);
    let answer = Answer::to(host.get(&report, &token)).await.expect(503);
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(client.all("/orders").await.len(), 2);
    host.is_alive().await;
    proxy.set(Line::Open);
    host.until(200, &report, &token).await;
    host.stop().await;
}
