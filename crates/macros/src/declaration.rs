//! The declaration of a type, read and checked, from which the derives generate.

use crate::attributes::{Attributes, Place, Role};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use std::collections::BTreeMap;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DataEnum, DeriveInput, Error, GenericParam, Generics, Ident, Index, Member, Path, Result, Type,
    TypeParamBound, parse_quote,
};

/// A struct or enum that has a canonical form.
pub(crate) struct Declaration {
    pub(crate) ident: Ident,
    /// As declared, and `Canonical` as a bound of every type parameter.
    pub(crate) generics: Generics,
    /// Base name of the type in schemas: without arguments.
    pub(crate) name: String,
    crate_path: Option<Path>,
    pub(crate) body: Body,
}

/// What the type is made of.
pub(crate) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

impl Default for Body {
    fn default() -> Self {
        Self::Struct(Vec::new())
    }
}

/// A variant of an enum.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) tag: u32,
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct or variant.
pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    /// Name in the schema; `None` where the role leaves the field out.
    pub(crate) name: Option<String>,
    /// The role that was written down; authoritative where there is none.
    pub(crate) role: Option<Role>,
}

impl Declaration {
    /// Reads a declaration and reports all that is wrong with it at once.
    pub(crate) fn parse(input: &DeriveInput) -> Result<Self> {
        let mut problems = Problems::default();
        let attributes = problems.take(Attributes::parse(&input.attrs, Place::Type));
        for lifetime in input.generics.lifetimes() {
            problems.add(Error::new(
                lifetime.span(),
                format!(
                    "`{}` borrows for `{}`, but authoritative state owns its data (store the value, or an id that \
                     finds it)",
                    input.ident, lifetime.lifetime
                ),
            ));
        }
        let body = problems.take(match &input.data {
            Data::Struct(data) => parse_fields(&data.fields).map(Body::Struct),
            Data::Enum(data) => parse_variants(&input.ident, data).map(Body::Enum),
            Data::Union(data) => Err(Error::new(
                data.union_token.span,
                "a union does not say which of its fields is valid, so it has no canonical form (use an enum)",
            )),
        });
        problems.finish()?;

        let mut declaration = Self {
            ident: input.ident.clone(),
            generics: input.generics.clone(),
            name: schema_name(&input.ident, &attributes),
            crate_path: attributes.crate_path,
            body,
        };
        let private = declaration.private();
        add_bounds(&mut declaration.generics, &[parse_quote!(#private::Canonical)]);
        Ok(declaration)
    }

    /// Returns the path of the module that re-exports what generated code uses.
    pub(crate) fn private(&self) -> TokenStream {
        match &self.crate_path {
            Some(path) => quote!(#path::__private),
            None => quote!(::bevy_replay::__private),
        }
    }

    /// Returns whether generated code uses `bevy_replay` itself and not the crate of an attribute.
    pub(crate) fn is_for_bevy_replay(&self) -> bool {
        self.crate_path.is_none()
    }
}

/// Adds bounds to every type parameter.
pub(crate) fn add_bounds(generics: &mut Generics, bounds: &[TypeParamBound]) {
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter {
            parameter.bounds.extend(bounds.iter().cloned());
        }
    }
}

fn schema_name(ident: &Ident, attributes: &Attributes) -> String {
    attributes.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value)
}

fn parse_variants(of: &Ident, data: &DataEnum) -> Result<Vec<Variant>> {
    if data.variants.is_empty() {
        return Err(Error::new(
            of.span(),
            format!("enum `{of}` has no variants, so it has no values to encode (add a variant)"),
        ));
    }
    let mut problems = Problems::default();
    let mut variants = Vec::with_capacity(data.variants.len());
    for variant in &data.variants {
        let attributes = problems.take(Attributes::parse(&variant.attrs, Place::Variant));
        let name = schema_name(&variant.ident, &attributes);
        variants.push(Variant {
            ident: variant.ident.clone(),
            tag: tag(&name),
            name,
            fields: problems.take(parse_fields(&variant.fields)),
        });
    }
    problems.finish()?;
    check_tags(of, &variants)?;
    Ok(variants)
}

/// Returns the low 32 bits of the XXH3-64 of a variant's name. Frozen: it is what tapes hold.
fn tag(name: &str) -> u32 {
    let [a, b, c, d, ..] = xxhash_rust::xxh3::xxh3_64(name.as_bytes()).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn check_tags(of: &Ident, variants: &[Variant]) -> Result<()> {
    let mut known: BTreeMap<u32, &Variant> = BTreeMap::new();
    for variant in variants {
        if let Some(first) = known.insert(variant.tag, variant) {
            let (a, b) = (&first.ident, &variant.ident);
            let why = if first.name == variant.name {
                format!("are both named {:?}", variant.name)
            } else {
                format!("share the tag {:08x}, a hash of their names", variant.tag)
            };
            return Err(Error::new(
                b.span(),
                format!(
                    "variants `{a}` and `{b}` of `{of}` {why} (give one another name, or add `#[canonical(name = \
                     \"...\")]` to it)"
                ),
            ));
        }
    }
    Ok(())
}

fn parse_fields(declared: &syn::Fields) -> Result<Vec<Field>> {
    let mut problems = Problems::default();
    let mut fields = Vec::with_capacity(declared.len());
    let mut position = 0;
    for (index, field) in declared.iter().enumerate() {
        let attributes = problems.take(Attributes::parse(&field.attrs, Place::Field));
        let is_authoritative = attributes.role.is_none_or(|role| role == Role::Authoritative);
        let name = is_authoritative.then(|| match (&attributes.name, &field.ident) {
            (Some(name), _) => name.value(),
            (None, Some(ident)) => ident.unraw().to_string(),
            // Counts authoritative fields only, so that one that is left out shifts no name.
            (None, None) => position.to_string(),
        });
        position += usize::from(is_authoritative);
        if let (false, Some(name)) = (is_authoritative, &attributes.name) {
            problems.add(Error::new(
                name.span(),
                "a field that is left out of the schema has no name there (remove the name or the role)",
            ));
        }
        fields.push(Field {
            member: field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named),
            ty: field.ty.clone(),
            name,
            role: attributes.role,
        });
    }
    problems.finish()?;
    check_field_names(&fields)?;
    Ok(fields)
}

/// Checks that the names are distinct, and those of a tuple, `0`, `1`, …, or of a struct.
fn check_field_names(fields: &[Field]) -> Result<()> {
    let kept = || {
        let named = fields.iter().filter_map(|field| Some((field, field.name.as_ref()?)));
        named.enumerate()
    };
    let is_number = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
    let is_tuple = kept().next().is_some_and(|(_, (_, name))| is_number(name));
    let mut known: BTreeMap<&str, &Field> = BTreeMap::new();
    for (position, (field, name)) in kept() {
        let problem = if known.insert(name, field).is_some() {
            format!("two fields are named `{name}` in the schema (give one another name)")
        } else if is_tuple && *name != position.to_string() {
            format!("`{name}` stands at position {position} of a tuple (name all fields, or each by its position)")
        } else if !is_tuple && is_number(name) {
            format!(
                "`{name}` is a position in a tuple, but other fields have names (name all fields, or each by its position)"
            )
        } else {
            continue;
        };
        return Err(Error::new(field.member.span(), problem));
    }
    Ok(())
}

impl Variant {
    /// Returns the path of the variant, for patterns and constructors.
    pub(crate) fn path(&self) -> TokenStream {
        let ident = &self.ident;
        quote!(Self::#ident)
    }
}

impl Field {
    /// Returns whether the field is encoded.
    pub(crate) fn is_kept(&self) -> bool {
        self.name.is_some()
    }

    /// Returns a span that points at the field's type but is known to come from a macro, so that
    /// errors point at the field and lints do not.
    pub(crate) fn span(&self) -> Span {
        Span::call_site().located_at(self.ty.span())
    }
}

/// Collects errors, so that one build shows all of them.
#[derive(Default)]
struct Problems(Option<Error>);

impl Problems {
    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn take<T: Default>(&mut self, result: Result<T>) -> T {
        result.unwrap_or_else(|error| {
            self.add(error);
            T::default()
        })
    }

    fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
