//! Searching and sorting text.

use plugin::model::value::fold;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::support::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn search_matches_literal_text_anywhere_in_any_case() {
    let shop = Shop::open().await;
    for name in ["100% Wolle", "under_score", r"back\slash", "ŁĄKA Straße", "Ünïcode 'quoted'"]
    {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let search = async |text: &str| {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/manufacturers?filter[search]={query}");
        shop.get(&path).send().await.expect(200).column("manufacturer_name")
    };
    assert_eq!(search("%").await, ["100% Wolle"]);
    assert_eq!(search("_").await, ["under_score"]);
    assert_eq!(search(r"\").await, [r"back\slash"]);
    assert_eq!(search("0% w").await, ["100% Wolle"]);
    assert_eq!(search("łąka").await, ["ŁĄKA Straße"]);
    assert_eq!(search("STRASSE").await, ["ŁĄKA Straße"]);
    assert_eq!(search("üNÏ").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("'QUOTED'").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("  \u{1}back  ").await, [r"back\slash"]);
    assert_eq!(search("   ").await.len(), 5, "an empty filter counts as not sent");
    assert_eq!(search("nothing").await, Vec::<Value>::new());
    let plus = shop.get("/manufacturers?filter[search]=100%25+w").send().await.expect(200);
    assert_eq!(plus.column("manufacturer_name"), ["100% Wolle"]);
}

/// The expectations are written out from Unicode's table of full case folding.
#[tokio::test(flavor = "multi_thread")]
async fn search_folds_case_as_unicode_does() {
    let shop = Shop::open().await;
    for name in ["Straße", "İzmir", "ırmak", "ΟΔΟΣ", "Éclair", "Žižka"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let search = async |text: &str| {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/manufacturers?filter[search]={query}");
        shop.get(&path).send().await.expect(200).column("manufacturer_name")
    };
    for (text, found) in [
        ("strasse", "Straße"),
        ("STRAẞE", "Straße"),
        ("i\u{307}zmir", "İzmir"),
        ("ırmak", "ırmak"),
        ("οδοσ", "ΟΔΟΣ"),
        ("οδος", "ΟΔΟΣ"),
        ("éCLAIR", "Éclair"),
        ("žiŽKA", "Žižka"),
    ] {
        assert_eq!(search(text).await, [found], "{text}");
    }
    // Neither dots nor accents are ignored.
    for text in ["izmir", "İZMİR", "irmak", "eclair", "ziz"] {
        assert_eq!(search(text).await, Vec::<Value>::new(), "{text}");
    }
    let coupon = |code: &str| json!({"coupon_name": "c", "coupon_code": code, "value": 1});
    for (first, same) in [("STRASSE", "straße"), ("ΟΔΟΣ", "οδος"), ("ÉTÉ", "été")] {
        shop.create("/coupons", coupon(first)).await;
        let answer = shop.post("/coupons", coupon(same)).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 duplicate pointer /coupon_code"], "{same}");
    }
    for other in ["STRASE", "ETE"] {
        shop.create("/coupons", coupon(other)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_sorts_by_code_point_of_the_folded_value() {
    let shop = Shop::open().await;
    for name in ["b", "A", "ä", "Z", "a", "B", "Ä", "é", "1", "ß", "st"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let path = "/manufacturers?list[ordering]=manufacturer_name";
    let sorted = shop.get(path).send().await.expect(200).column("manufacturer_name");
    assert_eq!(sorted, ["1", "A", "a", "b", "B", "ß", "st", "Z", "ä", "Ä", "é"]);
}

/// Each engine finds texts in another way, and some of them look for the characters after a text in a
/// range of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_found_whatever_follows_it() {
    // Characters of one to four bytes, the last ones of each length included, and those of patterns.
    const CHARACTERS: &[char] =
        &['a', '%', '_', '~', 'é', '\u{7FF}', '寿', '\u{FFFD}', '😀', '🍣', '\u{10FFFD}'];
    let shop = Shop::open().await;
    let mut generator = TestRunner::deterministic();
    let texts = vec(select(CHARACTERS), 1..40);
    let mut texts: Vec<Vec<char>> =
        (0..40).map(|_| texts.new_tree(&mut generator).unwrap().current()).collect();
    texts.extend(["qwerty😀", "寿司セット🍣", "qwertyz"].map(|text| text.chars().collect()));
    let whole: Vec<String> = texts.iter().map(|text| text.iter().collect()).collect();
    for text in &whole {
        shop.create("/products", json!({"product_name": text, "sku": format!("{text}#")})).await;
    }
    let sought = (0..texts.len()).prop_flat_map(|at| {
        let length = texts[at].len();
        (Just(at), 0..length, 1..=14_usize.min(length))
    });
    let sought = (0..150).map(|_| {
        let (at, from, length) = sought.new_tree(&mut generator).unwrap().current();
        texts[at][from..].iter().take(length).collect::<String>()
    });
    let sought: Vec<String> =
        ["qwerty", "寿司セット"].map(str::to_owned).into_iter().chain(sought).collect();
    for text in sought {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let expected: Vec<i64> = (1..)
            .zip(&whole)
            .filter(|(_, whole)| whole.contains(&text))
            .map(|(id, _)| id)
            .collect();
        for filter in ["search", "sku"] {
            let found = shop.get(&format!("/products?filter[{filter}]={query}&page[limit]=100"));
            let found = found.send().await.expect(200);
            assert_eq!(
                (found.ids(), found.total()),
                (expected.clone(), expected.len() as i64),
                "{filter} {text}"
            );
        }
    }
}

/// An index takes the beginnings of long texts only, and groups of texts with the same beginning are at the
/// ends of some of these pages, within others, and longer than a page.
#[tokio::test(flavor = "multi_thread")]
async fn text_sorts_by_all_of_its_characters_and_ties_by_id() {
    let shop = Shop::open().await;
    let long = "/Images/".repeat(40);
    let ends = ["b", "A", "a", "Ä", "ä", "", "ß", "st", "ST", "😀", "\u{FFFD}", "a", "b"];
    let images = ["", "z", "", "/"].into_iter().map(str::to_owned);
    let images = images.chain(ends.map(|end| format!("{long}{end}")));
    // Some have as many characters as an index takes, and some only when they are folded.
    let images = images.chain([254, 255, 256, 255].map(|length| "é".repeat(length)));
    let images = images.chain(
        [("ß", 150, "b"), ("s", 300, "a"), ("ß", 150, "")]
            .map(|(letter, times, end)| format!("{}{end}", letter.repeat(times))),
    );
    let mut sorted = Vec::new();
    for (place, image) in images.enumerate() {
        let [enabled, variable] = [!place.is_multiple_of(6), place.is_multiple_of(5)];
        let product = json!({
            "product_name": "x", "main_image": image, "enabled": u8::from(enabled),
            "product_type": if variable { "variable" } else { "simple" },
        });
        let id = shop.create("/products", product).await;
        sorted.push((fold(&image), id, [true, enabled, variable]));
    }
    sorted.sort();
    // The last filter is of few records, and the one before it of most.
    let filters = ["", "&filter[enabled]=1", "&filter[product_type]=variable"];
    for (number, filter) in filters.into_iter().enumerate() {
        let sorted = sorted.iter().filter(|(.., passes)| passes[number]);
        let sorted = sorted.map(|(_, id, _)| *id);
        let mut expected: Vec<i64> = sorted.collect();
        for direction in ["asc", "desc"] {
            for limit in [1, 2, 3, 7, 50] {
                for (page, expected) in expected.chunks(limit).enumerate() {
                    let query = format!(
                        "list[ordering]=main_image&list[direction]={direction}{filter}\
                         &page[limit]={limit}&page[offset]={}",
                        page * limit
                    );
                    let answer = shop.get(&format!("/products?{query}")).send().await.expect(200);
                    assert_eq!(answer.ids(), expected, "{query}");
                }
            }
            let query = format!("list[ordering]=main_image{filter}&page[offset]=100");
            let answer = shop.get(&format!("/products?{query}")).send().await.expect(200);
            assert_eq!((answer.ids(), answer.total()), (vec![], expected.len() as i64), "{query}");
            expected.reverse();
        }
    }
}

/// Texts that are not long can be long when they are folded, and long texts of which there are few are
/// sorted without an index.
#[tokio::test(flavor = "multi_thread")]
async fn names_and_comments_sort_by_all_of_their_characters() {
    let shop = Shop::open().await;
    // Each of these letters is folded to three.
    let long = "ΐ".repeat(254);
    for end in ["c", "a", "B"] {
        shop.create("/products", json!({"product_name": format!("{long}{end}")})).await;
    }
    let sorted = shop.get("/products?list[ordering]=product_name").send().await.expect(200);
    assert_eq!(sorted.ids(), [2, 3, 1]);
    let found = shop.get("/products?filter[search]=%CE%90b").send().await.expect(200);
    assert_eq!(found.ids(), [3]);
    shop.create("/orders", json!({"user_email": "ada@example.com"})).await;
    let long = "ä".repeat(300);
    for end in ["c", "Ä", "B", "a", "ä", "a"] {
        let entry = json!({"order_state_id": 2, "comment": format!("{long}{end}")});
        shop.create("/orders/1/history", entry).await;
    }
    let sorted = shop.get("/orders/1/history?list[ordering]=comment").send().await.expect(200);
    assert_eq!(sorted.ids(), [1, 5, 7, 4, 2, 3, 6]);
}

/// The cost of a search is bounded, however long the text is that a client sends.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_search_longer_than_255_characters_is_refused() {
    let shop = Shop::open().await;
    for (kind, filter) in [("products", "search"), ("products", "sku"), ("zones", "search")] {
        let search = |text: &str| format!("/{kind}?filter[{filter}]={text}");
        let longest = "ä".repeat(255);
        let found = shop.get(&search(&longest)).send().await.expect(200);
        assert_eq!(found.total(), 0);
        let refused = shop.get(&search(&format!("{longest}0"))).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 invalid_filter parameter filter[{filter}]")]);
        let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("255"), "{detail}");
        // Invisible characters do not count.
        shop.get(&search(&format!("+{longest}+%00"))).send().await.expect(200);
    }
}

/// Long texts are found by a part of them, and must match as a whole.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_long_search_text_is_matched_as_a_whole() {
    let shop = Shop::open().await;
    let letters =
        |from: u32| (from..from + 80).map(|n| char::from_u32('a' as u32 + n * 7 % 26).unwrap());
    let long: String = letters(0).chain(letters(1)).chain(letters(3)).collect();
    for (name, sku) in [
        (long.clone(), "0".repeat(255)),
        // These equal the first product at both ends, and differ in between.
        (
            long.replacen(&long[100..110], "##########", 1),
            format!("{}1{}", "0".repeat(99), "0".repeat(99)),
        ),
    ] {
        shop.create("/products", json!({"product_name": name, "sku": sku})).await;
    }
    let found = async |query: String| {
        let found = shop.get(&format!("/products?{query}")).send().await.expect(200);
        (found.ids(), found.total())
    };
    for length in [3, 17, 18, 19, 20, 40, 150, 240] {
        let whole = found(format!("filter[search]={}", &long[..length])).await;
        let expected = if length > 100 { (vec![1], 1) } else { (vec![1, 2], 2) };
        assert_eq!(whole, expected, "{length}");
        let none =
            found(format!("filter[search]={}!{}", &long[..length / 2], &long[length / 2..length]));
        assert_eq!(none.await, (vec![], 0), "{length}");
    }
    for (zeros, expected) in [(99, vec![1, 2]), (100, vec![1]), (255, vec![1])] {
        let ids = found(format!("filter[sku]={}", "0".repeat(zeros))).await.0;
        assert_eq!(ids, expected, "{zeros} zeros");
    }
}
