//! The files of the project, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the whole project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every Rust source file below a folder of the project, with its text.
pub fn sources(of: &str) -> Vec<(PathBuf, String)> {
    fn walk(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(of), &mut found);
    found
}

/// Whether a document may refer to this test as `module::test`: the last module of its path and its
/// function.
pub fn has_test(module: &str, test: &str) -> bool {
    let mut files = sources("tests/integration").into_iter();
    let file = files.find(|(path, _)| path.file_stem().is_some_and(|stem| stem == module));
    file.is_some_and(|(_, text)| text.contains(&format!("fn {test}(")))
}
