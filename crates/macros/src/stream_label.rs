//! `#[derive(StreamLabel)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, LitStr, Result};

/// Expands the derive.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "a stream has one name, so its label has no parameters (declare one label per stream)",
        ));
    }
    let mut name = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("stream")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("a stream label has one attribute, `#[stream(name = \"…\")]`"));
            }
            let text: LitStr = meta.value()?.parse()?;
            if text.value().is_empty() {
                return Err(Error::new(text.span(), "a stream has a name (at least one letter)"));
            }
            match name.replace(text.value()) {
                Some(_) => Err(Error::new(text.span(), "the name is given twice (keep one)")),
                None => Ok(()),
            }
        })?;
    }
    let name = name.unwrap_or_else(|| ident.to_string());
    Ok(quote! {
        impl ::bevy_replay::StreamLabel for #ident {
            const NAME: &'static str = #name;
        }
    })
}
