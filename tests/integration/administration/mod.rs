//! The administration: its pages, in programs and in a browser, and whom it trusts.

mod browser;
mod pages;
mod trust;
