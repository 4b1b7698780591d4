//! `#[derive(Canonical)]`.

use crate::declaration::{Body, Declaration, Field, Variant};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Result};

/// Expands the derive.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    Declaration::parse(input).map(|declaration| implement(&declaration))
}

/// Returns the implementation of `Canonical`, and of `Declared` for types of `bevy_replay`'s users.
pub(crate) fn implement(declaration: &Declaration) -> TokenStream {
    let private = &declaration.private();
    let ident = &declaration.ident;
    let (impl_generics, type_generics, where_clause) = declaration.generics.split_for_impl();
    let type_name = type_name(declaration);
    let Code { width, shape, encode, decode, decode_in_place } = match &declaration.body {
        Body::Struct(fields) => struct_code(private, fields),
        Body::Enum(variants) => enum_code(private, &declaration.name, variants),
    };
    let decode_in_place = decode_in_place.map(|body| {
        quote! {
            fn decode_in_place(
                &mut self,
                input: &mut #private::Source<'_>,
            ) -> ::core::result::Result<(), #private::DecodeError> {
                #private::Source::deeper(input, |input| {
                    #body
                    ::core::result::Result::Ok(())
                })
            }
        }
    });
    let declared = declaration.is_for_bevy_replay().then(|| {
        quote! {
            #[automatically_derived]
            #[allow(deprecated, reason = "the type may be deprecated")]
            impl #impl_generics #private::Declared for #ident #type_generics #where_clause {}
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, unused_variables, reason = "types and fields may be deprecated, fields may be missing")]
        impl #impl_generics #private::Canonical for #ident #type_generics #where_clause {
            const WIDTH: ::core::option::Option<::core::primitive::usize> = #width;

            fn type_name() -> ::std::string::String {
                #type_name
            }

            fn shape(types: &mut #private::SchemaBuilder) -> #private::ShapeId {
                types.define::<Self>(|types| {
                    #shape
                })
            }

            // `__S`: a type parameter of the user's may be called `S`.
            #[inline]
            fn encode<__S: #private::Sink>(&self, out: &mut __S) {
                #encode
            }

            fn decode(
                input: &mut #private::Source<'_>,
            ) -> ::core::result::Result<Self, #private::DecodeError> {
                #private::Source::deeper(input, |input| #decode)
            }

            #decode_in_place
        }
        #declared
    }
}

/// What differs between structs and enums.
struct Code {
    width: TokenStream,
    shape: TokenStream,
    encode: TokenStream,
    decode: TokenStream,
    /// `None` where the trait's own is right.
    decode_in_place: Option<TokenStream>,
}

fn type_name(declaration: &Declaration) -> TokenStream {
    let private = declaration.private();
    let name = &declaration.name;
    let arguments: Vec<TokenStream> = declaration
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => {
                let ident = &parameter.ident;
                Some(quote!(<#ident as #private::Canonical>::type_name()))
            }
            GenericParam::Const(parameter) => {
                let ident = &parameter.ident;
                Some(quote!(#ident))
            }
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    if arguments.is_empty() {
        return quote!(::std::string::String::from(#name));
    }
    let pattern = format!("{{}}<{}>", vec!["{}"; arguments.len()].join(", "));
    quote!(::std::format!(#pattern, #name, #(#arguments),*))
}

fn struct_code(private: &TokenStream, fields: &[Field]) -> Code {
    let schema_fields = schema_fields(private, fields);
    let constructor = constructor(private, &quote!(Self), fields);
    let kept = || fields.iter().filter(|field| field.is_kept());
    let encode = kept().map(|field| {
        let member = &field.member;
        encode_call(private, field, &quote!(&self.#member))
    });
    let decode_in_place = kept().map(|field| {
        let member = &field.member;
        decode_in_place_call(private, field, &quote!(&mut self.#member))
    });
    Code {
        width: width(private, fields),
        shape: quote! {
            #private::Shape::Struct {
                name: <Self as #private::Canonical>::type_name(),
                fields: #schema_fields,
            }
        },
        encode: quote!(#(#encode)*),
        decode: quote!(::core::result::Result::Ok(#constructor)),
        decode_in_place: Some(quote!(#(#decode_in_place)*)),
    }
}

fn enum_code(private: &TokenStream, name: &str, variants: &[Variant]) -> Code {
    let schema_variants = variants.iter().map(|variant| {
        let Variant { name, tag, .. } = variant;
        let fields = schema_fields(private, &variant.fields);
        quote! {
            #private::Variant {
                name: ::std::string::String::from(#name),
                tag: #tag,
                fields: #fields,
            }
        }
    });
    let decode_arms = variants.iter().map(|variant| {
        let tag = variant.tag;
        let constructor = constructor(private, &variant.path(), &variant.fields);
        quote!(#tag => ::core::result::Result::Ok(#constructor),)
    });
    let read_tag = quote!(<::core::primitive::u32 as #private::Canonical>::decode(input)?);
    let expected = format!("enum {name}");
    let unknown_tag = quote! {
        ::core::result::Result::Err(#private::DecodeError::invalid(
            #expected,
            ::std::format!("tag {:08x}", tag),
        ))
    };
    // An enum without fields has nothing to keep.
    let has_fields = variants.iter().any(|variant| !variant.fields.is_empty());
    let decode_in_place = has_fields.then(|| {
        let is_only = variants.len() == 1;
        let arms = variants.iter().map(|variant| decode_in_place_arm(private, variant, is_only));
        quote! {
            match #read_tag {
                #(#arms)*
                tag => return #unknown_tag,
            }
        }
    });
    Code {
        width: enum_width(private, variants),
        shape: quote! {
            #private::Shape::Enum {
                name: <Self as #private::Canonical>::type_name(),
                variants: ::std::vec![#(#schema_variants),*],
            }
        },
        encode: enum_encode(private, variants),
        decode: quote! {
            match #read_tag {
                #(#decode_arms)*
                tag => #unknown_tag,
            }
        },
        decode_in_place,
    }
}

/// Writes the tag in one place for all variants: enums without fields are then one store.
fn enum_encode(private: &TokenStream, variants: &[Variant]) -> TokenStream {
    let tag_arms = variants.iter().map(|variant| {
        let (path, tag) = (variant.path(), variant.tag);
        quote!(#path { .. } => #tag,)
    });
    let is_bare = |variant: &Variant| !variant.fields.iter().any(Field::is_kept);
    let field_arms = variants.iter().filter(|variant| !is_bare(variant)).map(|variant| {
        let pattern = pattern(variant);
        let calls = bindings(&variant.fields).map(|(binding, field)| encode_call(private, field, &quote!(#binding)));
        quote!(#pattern => { #(#calls)* })
    });
    let rest = variants.iter().any(is_bare).then(|| quote!(_ => {}));
    let fields = (!variants.iter().all(is_bare)).then(|| {
        quote! {
            match self {
                #(#field_arms)*
                #rest
            }
        }
    });
    quote! {
        let tag: ::core::primitive::u32 = match self {
            #(#tag_arms)*
        };
        #private::Sink::put(out, &tag.to_le_bytes());
        #fields
    }
}

fn decode_in_place_arm(private: &TokenStream, variant: &Variant, is_only: bool) -> TokenStream {
    let tag = variant.tag;
    let constructor = constructor(private, &variant.path(), &variant.fields);
    if variant.fields.is_empty() {
        return quote!(#tag => *self = #constructor,);
    }
    let pattern = pattern(variant);
    let calls =
        bindings(&variant.fields).map(|(binding, field)| decode_in_place_call(private, field, &quote!(#binding)));
    let replace = (!is_only).then(|| quote!(other => *other = #constructor,));
    quote! {
        #tag => match self {
            #pattern => { #(#calls)* }
            #replace
        },
    }
}

/// Returns a pattern that binds the encoded fields of a variant.
fn pattern(variant: &Variant) -> TokenStream {
    let bound = bindings(&variant.fields).map(|(binding, field)| {
        let member = &field.member;
        quote!(#member: #binding,)
    });
    let path = variant.path();
    quote!(#path { #(#bound)* .. })
}

/// Returns the encoded fields and what [`pattern`] calls them.
fn bindings(fields: &[Field]) -> impl Iterator<Item = (Ident, &Field)> {
    let named = fields.iter().enumerate();
    named.filter(|(_, field)| field.is_kept()).map(|(index, field)| (format_ident!("field_{index}"), field))
}

fn schema_fields(private: &TokenStream, fields: &[Field]) -> TokenStream {
    let kept = fields.iter().filter_map(|field| {
        let name = field.name.as_ref()?;
        let ty = &field.ty;
        Some(quote_spanned! {field.span()=>
            #private::Field {
                name: ::std::string::String::from(#name),
                shape: <#ty as #private::Canonical>::shape(types),
            }
        })
    });
    quote!(::std::vec![#(#kept),*])
}

/// Returns an expression that decodes the encoded fields, in order, and makes the others anew.
fn constructor(private: &TokenStream, path: &TokenStream, fields: &[Field]) -> TokenStream {
    let values = fields.iter().map(|field| {
        let Field { member, ty, .. } = field;
        let value = if field.is_kept() {
            quote_spanned!(field.span()=> <#ty as #private::Canonical>::decode(input)?)
        } else {
            quote_spanned!(field.span()=> <#ty as ::core::default::Default>::default())
        };
        quote!(#member: #value)
    });
    quote!(#path { #(#values),* })
}

fn encode_call(private: &TokenStream, field: &Field, place: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(field.span()=> <#ty as #private::Canonical>::encode(#place, out);)
}

fn decode_in_place_call(private: &TokenStream, field: &Field, place: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    quote_spanned!(field.span()=> <#ty as #private::Canonical>::decode_in_place(#place, input)?;)
}

fn width(private: &TokenStream, fields: &[Field]) -> TokenStream {
    let added = fields.iter().filter(|field| field.is_kept()).map(|field| {
        let ty = &field.ty;
        quote_spanned! {field.span()=>
            let width = #private::width_sum(width, <#ty as #private::Canonical>::WIDTH);
        }
    });
    quote! {{
        let width = ::core::option::Option::Some(0);
        #(#added)*
        width
    }}
}

fn enum_width(private: &TokenStream, variants: &[Variant]) -> TokenStream {
    let mut widths = variants.iter().map(|variant| width(private, &variant.fields));
    let first = widths.next();
    quote! {{
        let shared = #first;
        #(let shared = #private::width_equal(shared, #widths);)*
        #private::width_sum(::core::option::Option::Some(4), shared)
    }}
}
