//! What limits tokens, on the hosts of a site: rotation, ends, addresses and rates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::databases::Engine;
use crate::support::harness::{Answer, MEDIA_TYPE};
use crate::support::process::{Place, Served, stop};
use crate::support::waiting::eventually;

const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

/// The proxy that hosts trust, so that tests choose the address of a client.
const PROXIES: &[(&str, &str)] = &[("HOST_TRUSTED_PROXIES", "127.0.0.1")];

/// How long another process may take to follow a change.
const PROMPT: Duration = Duration::from_secs(1);

/// The clients of a rotation.
const CLIENTS: usize = 64;

async fn furnished() -> Place {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    place
}

/// Creates a token of ann with these options.
async fn create(place: &Place, name: &str, options: &str) -> String {
    let created = place.run(&format!("token create ann --name {name} {options}")).await;
    created.trim().to_owned()
}

async fn from(served: &Served, token: &str, client: &str) -> Answer {
    Answer::to(served.get(ECHO, token).header("x-forwarded-for", client)).await
}

/// The moment after so many seconds, as the command line takes it.
fn moment(seconds: u64) -> String {
    (OffsetDateTime::now_utc() + Duration::from_secs(seconds)).format(&Rfc3339).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_under_load_loses_no_request() {
    let place = furnished().await;
    let token = create(&place, "erp", "").await;
    let hosts = place.serve_twice_with(&[]).await;
    for host in &hosts {
        host.until(200, ECHO, &token).await;
    }
    let (secret, current) = watch::channel(token);
    let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (current, over, count) = (current.clone(), Arc::clone(&over), Arc::clone(&count));
        let url = hosts[number % hosts.len()].url(ECHO);
        clients.spawn(async move {
            let client = reqwest::Client::new();
            while !over.load(Ordering::Relaxed) {
                // Clients notice the new secret at different times, and some are slow.
                let token = current.borrow().clone();
                let ask = client.get(&url).header("accept", MEDIA_TYPE).bearer_auth(&token);
                assert_eq!(ask.send().await.unwrap().status(), 200);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let answered = async |more: usize| {
        let until = count.load(Ordering::Relaxed) + more;
        eventually("requests are answered", async || {
            (count.load(Ordering::Relaxed) >= until).then_some(())
        })
        .await;
    };
    answered(CLIENTS * 3).await;
    for _ in 0..3 {
        let rotated = place.run("token rotate ann erp --overlap 1").await;
        answered(CLIENTS).await;
        secret.send_replace(rotated.trim().to_owned());
        answered(CLIENTS * 2).await;
    }
    over.store(true, Ordering::Relaxed);
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
    let last = secret.borrow().clone();
    // Revoking ends all secrets.
    place.run("token revoke ann erp").await;
    for host in hosts {
        host.until(401, ECHO, &last).await;
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_rotation_without_an_overlap_ends_the_secret_before() {
    let place = furnished().await;
    let first = create(&place, "erp", "").await;
    let hosts = place.serve_twice_with(&[]).await;
    let second = place.run("token rotate ann erp").await;
    for host in hosts {
        host.until(401, ECHO, &first).await;
        host.until(200, ECHO, second.trim()).await;
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_within_a_second_of_its_moment_on_every_host() {
    let place = furnished().await;
    let hosts = place.serve_twice_with(&[]).await;
    let lasting = create(&place, "lasting", "--expires 2999-01-01").await;
    let (begun, length) = (Instant::now(), Duration::from_secs(4));
    let short = create(&place, "short", &format!("--expires {}", moment(4))).await;
    for host in &hosts {
        host.until(200, ECHO, &lasting).await;
        let early = Answer::to(host.get(ECHO, &short)).await;
        assert!(early.status == 200 || begun.elapsed() >= length - PROMPT, "{}", early.status);
    }
    tokio::time::sleep((length + PROMPT).saturating_sub(begun.elapsed())).await;
    for host in hosts {
        let late = Answer::to(host.get(ECHO, &short)).await;
        assert_eq!(late.errors(), ["401 token_expired header Authorization"]);
        assert!(late.header("www-authenticate").starts_with("Bearer error=\"invalid_token\""));
        assert_eq!(Answer::to(host.get(ECHO, &lasting)).await.status, 200);
        host.stop().await;
    }
    let list = place.run("token list ann").await;
    assert!(list.contains("short\texpired\tall\t"), "{list}");
    let refused = place.refusal("token rotate ann short").await;
    assert_eq!(refused, "a token must not end in the past");
    place.run("token rotate ann short --expires 2999-01-01").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_refused_from_other_addresses_on_every_host() {
    let place = furnished().await;
    let hosts = place.serve_twice_with(PROXIES).await;
    let ranges = "--from 192.0.2.0/24 --from 2001:db8::/32 --from 198.51.100.7";
    let token = create(&place, "till", ranges).await;
    for host in hosts {
        for (client, status) in [
            ("192.0.2.9", 200),
            ("::ffff:192.0.2.9", 200),
            ("2001:db8::5", 200),
            ("198.51.100.7", 200),
            ("198.51.100.8", 403),
            ("192.0.3.1", 403),
            ("2001:db9::1", 403),
        ] {
            assert_eq!(from(&host, &token, client).await.status, status, "{client}");
        }
        let refused = from(&host, &token, "203.0.113.1").await;
        assert_eq!(refused.errors(), ["403 address_not_allowed header Authorization"]);
        host.stop().await;
    }
    let refusals = "SELECT what FROM host_audit WHERE status = 403 AND what LIKE '%192.0.3.1%'";
    assert!(!place.database.texts_at(&place.site_url(), refusals).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_stolen_database_signs_in() {
    let place = furnished().await;
    let token = create(&place, "erp", "").await;
    let served = place.serve().await;
    served.until(200, ECHO, &token).await;
    let hashes = "SELECT lower(hex(hash)) FROM host_api_token_secrets";
    let hashes = match place.database.engine {
        Engine::Postgres => "SELECT encode(hash, 'hex') FROM host_api_token_secrets",
        Engine::Sqlite | Engine::MariaDb => hashes,
    };
    let stolen = place.database.texts_at(&place.site_url(), hashes).await;
    assert_eq!(stolen.len(), 1);
    for secret in
        [stolen[0].clone(), format!("ost_{}", stolen[0]), token[..token.len() - 6].to_owned()]
    {
        assert_eq!(Answer::to(served.get(ECHO, &secret)).await.status, 401, "{secret}");
    }
    served.stop().await;
    if place.database.engine == Engine::Sqlite {
        // The whole file, with its log of changes.
        for file in std::fs::read_dir(place.path("data")).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
            let secret = token.as_bytes();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
}

/// The number in a member of the header `RateLimit`.
fn member(headers: &HeaderMap, name: &str, key: &str) -> u64 {
    let value = headers[name].to_str().unwrap();
    let found = value.split(';').find_map(|member| member.strip_prefix(key)?.strip_prefix('='));
    found.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_rate_is_named_and_kept() {
    let place = furnished().await;
    let token = create(&place, "app", "--rate 3").await;
    let served = place.serve().await;
    let ask = async || served.get(ECHO, &token).send().await.unwrap();
    for left in [2, 1, 0] {
        let answer = ask().await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["ratelimit-policy"], "\"token\";q=3;w=60");
        assert_eq!(member(answer.headers(), "ratelimit", "r"), left);
    }
    let refused = ask().await;
    assert_eq!(refused.status(), 429);
    let wait = member(refused.headers(), "ratelimit", "t");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(refused.headers()["retry-after"], wait.to_string().as_str());
    let unlimited = create(&place, "other", "").await;
    let answer = served.get(ECHO, &unlimited).send().await.unwrap();
    assert!(!answer.headers().contains_key("ratelimit"));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_exceed_a_rate_by_at_most_what_arrives_in_a_second() {
    const RATE: usize = 300;
    let place = furnished().await;
    let token = create(&place, "app", &format!("--rate {RATE}")).await;
    let hosts = place.serve_twice_with(&[]).await;
    for host in &hosts {
        host.until(200, ECHO, &token).await;
    }
    let begun = Instant::now();
    // A host hears of the requests of another one only if it has answered some of its own.
    let mut clients = JoinSet::new();
    for host in &hosts {
        let (ask, length) = (host.get(ECHO, &token), Duration::from_secs(8));
        clients.spawn(async move {
            let mut answered: Vec<(Duration, u16)> = Vec::new();
            while begun.elapsed() < length {
                let answer = ask.try_clone().unwrap().send().await.unwrap();
                answered.push((begun.elapsed(), answer.status().as_u16()));
                // A hundred a second on each host.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            answered
        });
    }
    let mut answered = Vec::new();
    while let Some(done) = clients.join_next().await {
        answered.extend(done.unwrap());
    }
    let allowed: Vec<Duration> =
        answered.iter().filter(|(_, status)| *status == 200).map(|(at, _)| *at).collect();
    assert!(answered.iter().all(|(_, status)| [200, 429].contains(status)));
    let busiest = (0..8).map(|second| {
        let within = |at: &&Duration| at.as_secs() == second;
        allowed.iter().filter(within).count()
    });
    let at_most = RATE + busiest.max().unwrap();
    assert!(answered.len() > at_most, "there is enough traffic: {}", answered.len());
    assert!((RATE - hosts.len()..=at_most).contains(&allowed.len()), "{}", allowed.len());
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_host_counted_in_the_minute_before_counts() {
    let place = furnished().await;
    let token = create(&place, "app", "--rate 10000").await;
    let served = place.serve().await;
    let ask = async || served.get(ECHO, &token).send().await.unwrap();
    // The rest has to happen in one minute, at whose end fewer count.
    let second = OffsetDateTime::now_utc().second();
    if second > 40 {
        tokio::time::sleep(Duration::from_secs(61 - u64::from(second))).await;
    }
    assert_eq!(ask().await.status(), 200);
    let (database, url) = (&place.database, place.site_url());
    let minutes = "SELECT 'a minute' FROM host_api_token_rates";
    eventually("the request is counted", async || {
        (database.texts_at(&url, minutes).await.len() == 1).then_some(())
    })
    .await;
    let before = "UPDATE host_api_token_rates SET minute = minute - 1, used = 6000";
    database.execute_at(&url, before).await;
    eventually("those of the minute before count", async || {
        let left = member(ask().await.headers(), "ratelimit", "r");
        (left < 9500 && database.texts_at(&url, minutes).await.len() == 2).then_some(())
    })
    .await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_names_its_address() {
    let place = furnished().await;
    let token = create(&place, "app", "").await;
    let served = place.serve_with(PROXIES).await;
    from(&served, &token, "192.0.2.9").await.expect(200);
    served.stop().await;
    let uses =
        place.database.texts_at(&place.site_url(), "SELECT address FROM host_api_token_uses").await;
    assert_eq!(uses, ["192.0.2.9"]);
    let list = place.run("token list ann").await;
    assert!(!list.trim_end().ends_with("\tnever"), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_reminded_of_tokens_that_are_about_to_end() {
    let place = furnished().await;
    for (name, days) in [("soon", 6), ("tomorrow", 1), ("later", 9)] {
        let end = moment(days * 24 * 60 * 60 - 60);
        create(&place, name, &format!("--expires {end}")).await;
    }
    let mails = async || {
        let Ok(folder) = std::fs::read_dir(place.data("mail")) else { return Vec::new() };
        let texts = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let mut subjects: Vec<String> = texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| line.starts_with("Subject: "))
            .collect();
        subjects.sort_unstable();
        subjects
    };
    let expected = ["soon", "tomorrow"]
        .map(|name| format!("Subject: Your API token \"{name}\" is about to end"));
    // Each is sent once, by whichever host, also after a restart.
    for _ in 0..2 {
        let hosts = place.serve_twice_with(&[]).await;
        eventually("the mails are sent", async || (mails().await.len() >= 2).then_some(())).await;
        stop(hosts).await;
        assert_eq!(mails().await, expected);
    }
}
