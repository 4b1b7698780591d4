//! `#[derive(TickInput)]`.

use crate::attributes::Role;
use crate::canonical;
use crate::declaration::{Body, Declaration, Field, add_bounds};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DataStruct, DeriveInput, Error, Result, parse_quote};

/// Expands the derive.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(data) => return Err(not_a_struct(data.enum_token.span)),
        Data::Union(data) => return Err(not_a_struct(data.union_token.span)),
    };
    if let Some(attribute) = once_attributes(&input.attrs).next() {
        return Err(Error::new(
            attribute.span(),
            "`#[once]` is said of a field (move it to each field that one tick uses up)",
        ));
    }
    let declaration = Declaration::parse(input)?;
    let Body::Struct(fields) = &declaration.body else {
        return Err(not_a_struct(input.ident.span()));
    };
    let once = once_fields(data, fields)?;
    let canonical = canonical::implement(&declaration);
    let consume = implement(&declaration, &once);
    Ok(quote! {
        #canonical
        #consume
    })
}

fn not_a_struct(span: Span) -> Error {
    Error::new(span, "recorded input is a struct, so that each field has a name (wrap the enum in one)")
}

fn once_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("once"))
}

/// Returns the fields that one tick uses up.
fn once_fields<'a>(data: &DataStruct, fields: &'a [Field]) -> Result<Vec<&'a Field>> {
    let mut once = Vec::new();
    for (declared, field) in data.fields.iter().zip(fields) {
        let mut attributes = once_attributes(&declared.attrs);
        let Some(attribute) = attributes.next() else {
            continue;
        };
        attribute
            .meta
            .require_path_only()
            .map_err(|error| Error::new(error.span(), "`#[once]` takes no arguments (write `#[once]`)"))?;
        if let Some(second) = attributes.next() {
            return Err(Error::new(second.span(), "`#[once]` is given twice (keep one)"));
        }
        match field.role {
            Some(role) if role != Role::Authoritative => {
                return Err(Error::new(
                    attribute.span(),
                    format!(
                        "`#[once]` is for recorded fields, but the role `{}` leaves this one out of the tape (remove \
                         one of both)",
                        role.key()
                    ),
                ));
            }
            _ => once.push(field),
        }
    }
    Ok(once)
}

fn implement(declaration: &Declaration, once: &[&Field]) -> TokenStream {
    let private = declaration.private();
    let ident = &declaration.ident;
    // The trait asks for both, and derives of both give them under these bounds.
    let mut generics = declaration.generics.clone();
    let bounds = [parse_quote!(::core::clone::Clone), parse_quote!(::core::default::Default)];
    add_bounds(&mut generics, &bounds);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let resets = once.iter().map(|field| {
        let Field { member, ty, .. } = field;
        quote_spanned!(field.span()=> self.#member = <#ty as ::core::default::Default>::default();)
    });
    let has_once = !once.is_empty();
    quote! {
        #[automatically_derived]
        #[allow(deprecated, reason = "types and fields may be deprecated")]
        impl #impl_generics #private::TickInput for #ident #type_generics #where_clause {
            const HAS_ONCE: ::core::primitive::bool = #has_once;

            #[inline]
            fn consume(&mut self) {
                #(#resets)*
            }
        }
    }
}
