//! What is checked of each page in a browser: axe finds no fault in either colour scheme, nothing is wider than the
//! window, and every control is reached with the keyboard. With `TEST_PICTURES` each page leaves pictures for people.

use std::path::PathBuf;

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use serde_json::json;

use crate::support::browser::{Browser, folder};

/// The pages that were looked at.
pub struct Review {
    axe: String,
    /// Where pictures are put, if they are wanted: to take one costs as much as to check a page.
    pictures: Option<PathBuf>,
    faults: Vec<String>,
}

impl Review {
    pub fn begin() -> Review {
        let axe = std::fs::read_to_string(folder().join("axe.js")).unwrap();
        let pictures = std::env::var_os("TEST_PICTURES").map(|_| folder().join("pictures"));
        if let Some(folder) = &pictures {
            std::fs::create_dir_all(folder).unwrap();
        }
        Review { axe, pictures, faults: Vec::new() }
    }

    /// Looks at the shown page in both colour schemes. The name is that of its pictures.
    pub async fn look(&mut self, browser: &Browser, page: &str) {
        // To send it costs as much as to check a small page, so it is sent once.
        if browser.script("return 'axe' in window").await == false {
            browser.script_of_pages(&self.axe).await;
        }
        for (scheme, rules) in [("light", ALL_RULES), ("dark", RULES_OF_COLOURS)] {
            browser.colours(scheme).await;
            let page = format!("{page}-{}-{scheme}", browser.look.name);
            for fault in faults_of(browser, scheme, rules).await {
                self.faults.push(format!("{page}: {fault}"));
            }
            self.picture(browser, &page).await;
        }
        browser.colours("light").await;
    }

    /// Looks at the shown page, and goes through it with the keyboard.
    pub async fn look_and_reach(&mut self, browser: &Browser, page: &str) {
        self.look(browser, page).await;
        self.reach(browser, page).await;
    }

    /// Goes through the shown page with the keyboard.
    pub async fn reach(&mut self, browser: &Browser, page: &str) {
        let missed = out_of_reach(browser).await;
        let fault = |control| format!("{page}-{}: {control} is not reached", browser.look.name);
        self.faults.extend(missed.into_iter().map(fault));
    }

    /// Takes a small picture of the visible part of the shown page, if pictures are wanted.
    pub async fn picture(&self, browser: &Browser, name: &str) {
        let Some(folder) = &self.pictures else { return };
        std::fs::write(folder.join(format!("{name}.webp")), browser.picture().await).unwrap();
    }

    /// Fails the test if a page has a fault.
    #[track_caller]
    pub fn passes(self) {
        assert!(self.faults.is_empty(), "{:#?}", self.faults);
    }
}

/// What axe is asked for. In other colours the page is the same, so only its colours are checked again.
const ALL_RULES: &str = "{resultTypes: ['violations']}";
const RULES_OF_COLOURS: &str =
    "{resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block']}";

/// The words in tables of the shown page that are broken over two lines, without ids and the like.
const BROKEN_WORDS: &str = "
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const of = text.parentElement;
        if (!of.closest('td, th') || of.closest('code, pre, .unseen') || !of.checkVisibility()) continue;
        for (const word of text.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
            const range = new Range();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const tops = [...range.getClientRects()].map(rect => Math.round(rect.top));
            if (new Set(tops).size > 1) broken.push(word[0]);
        }
    }
    return broken";

/// The faults of the shown page, which has loaded axe.
async fn faults_of(browser: &Browser, scheme: &str, rules: &str) -> Vec<String> {
    // Colours change with a transition.
    let run = format!(
        "document.body.offsetWidth; document.getAnimations().forEach(change => change.finish()); \
        const done = arguments[0]; axe.run({rules}).then(found => \
        done(found.violations.map(rule => rule.id + ': ' + rule.help + ': ' + \
        rule.nodes.map(node => node.target.join(' ')).join(', '))))"
    );
    let found = browser.client.execute_async(&run, Vec::new()).await.unwrap();
    let mut faults: Vec<String> = serde_json::from_value(found).unwrap();
    let measured = browser
        .script(
            "const root = document.documentElement; \
             return [root.scrollWidth - root.clientWidth, \
             matchMedia('(prefers-color-scheme: dark)').matches, root.clientWidth, \
             getComputedStyle(document.body).colorScheme]",
        )
        .await;
    if measured[0] != 0 {
        faults.push(format!("is wider than its window by {}", measured[0]));
    }
    let broken: Vec<String> = serde_json::from_value(browser.script(BROKEN_WORDS).await).unwrap();
    faults.extend(broken.into_iter().map(|word| format!("breaks inside a word: {word}")));
    assert_eq!(measured[1], json!(scheme == "dark"));
    assert_eq!(measured[2], json!(browser.look.width));
    assert_eq!(measured[3], "light dark", "the stylesheet applies");
    faults
}

/// The controls of the shown page that cannot be reached with the Tab key from its top.
async fn out_of_reach(browser: &Browser) -> Vec<String> {
    // The page itself notes what is reached, because to ask after each key takes most of the time.
    let all = "window.missed = [...document.querySelectorAll('a[href], button, input, select, \
         textarea, summary, [tabindex]')].filter(found => found.checkVisibility() && \
         !found.matches(':disabled, [type=hidden], [tabindex=\"-1\"], [type=radio]:not(:checked)')); \
         document.addEventListener('focusin', reached => \
         missed = missed.filter(found => found !== reached.target)); \
         document.activeElement.blur(); scrollTo(0, 0); \
         return missed.length + 3 * document.querySelectorAll('[type=date]').length + \
         7 * document.querySelectorAll('[type=datetime-local]').length";
    let rest = "return missed.map(found => found.outerHTML.slice(0, 120))";
    let mut steps = browser.script(all).await.as_u64().unwrap() + 1;
    loop {
        // Keys that are sent to an element are, where it takes a file, the name of one.
        const TAB: char = '\u{e004}';
        let some = steps.min(20);
        let press = (0..some).fold(KeyActions::new("keyboard".to_owned()), |keys, _| {
            keys.then(KeyAction::Down { value: TAB }).then(KeyAction::Up { value: TAB })
        });
        browser.client.perform_actions(press).await.unwrap();
        steps -= some;
        let missed: Vec<String> = serde_json::from_value(browser.script(rest).await).unwrap();
        if missed.is_empty() || steps == 0 {
            return missed;
        }
    }
}
