//! What a plugin's library exports, written by [`export_plugin!`](crate::export_plugin). Public for
//! what the macro expands to and for the tests of the contract, and not for use by hand.
#![allow(missing_docs, reason = "for the macro and the tests alone")]

use std::sync::Once;

use abi_stable::StableAbi;
use abi_stable::library::{CheckTypeLayout, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::std_types::RStr;
use abi_stable::type_layout::TypeLayout;

use crate::environment::Environment;
use crate::error::Error;
use crate::host::HostHandle;
use crate::log::{Level, LogRecord};
use crate::outcome::Outcome;
use crate::panic::catch;
use crate::plugin::{Plugin, PluginObject, guard};
use crate::root::{PluginRoot, PluginRootRef};

pub use abi_stable::library::LibHeader;

pub use crate::root::compare;

/// Exports a type that implements [`Plugin`](crate::Plugin) as the plugin of the library that is
/// being compiled. To be written once, in a crate of type `cdylib`.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        #[doc(hidden)]
        #[allow(unsafe_code, missing_docs, reason = "the one symbol that a host looks for")]
        // SAFETY: the name is reserved to the header of this major version of the contract, which
        // this is.
        #[unsafe(export_name = "host_interface_1")]
        pub static PLUGIN_LIBRARY_HEADER: $crate::export::LibHeader =
            $crate::export::header::<$plugin>();
    };
}

/// The layout of everything that crosses.
pub const LAYOUT: &TypeLayout = PluginRootRef::LAYOUT;

#[allow(unsafe_code, reason = "the constructor makes this root module")]
pub const fn header<P: Plugin>() -> LibHeader {
    // SAFETY: `construct` makes a `PluginRootRef`, of which `from_constructor` exports the layout, so that
    // a host checks it before it uses the module.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(construct::<P>, CheckTypeLayout::Yes) }
}

extern "C" fn construct<P: Plugin>() -> RootModuleResult {
    abi_stable::library::__call_root_module_loader(|| -> PluginRootRef {
        PluginRoot { name: RStr::from_str(P::NAME), create: create::<P> }.leak_into_prefix()
    })
}

extern "C" fn create<P: Plugin>(host: HostHandle, environment: RStr<'_>) -> Outcome<PluginObject> {
    catch(|| {
        log_panics(&host);
        let environment: Environment =
            serde_json::from_str(environment.as_str()).map_err(Error::contract)?;
        P::create(host.clone(), environment).map(|plugin| guard(plugin, host))
    })
}

/// Sends the message and place of each panic to the host's log instead of standard error.
/// The hook is this library's own: the host has another copy of the standard library.
fn log_panics(host: &HostHandle) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let host = host.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let message = panic.to_string().replace('\n', " ");
            host.log(&LogRecord::new(Level::Error, "plugin", &message, ""));
        }));
    });
}
