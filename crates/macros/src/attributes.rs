//! Reading of `#[canonical(...)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, LitStr, Path, Result};

/// What a field is to the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Authoritative,
    Observation,
    Presentation,
    Derived,
}

impl Role {
    const ALL: [Self; 4] = [Self::Authoritative, Self::Observation, Self::Presentation, Self::Derived];

    /// Returns how the role is written in an attribute.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Authoritative => "authoritative",
            Self::Observation => "observation",
            Self::Presentation => "presentation",
            Self::Derived => "derived",
        }
    }
}

/// Where an attribute stands; decides which keys it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Type,
    Variant,
    Field,
}

impl Place {
    fn noun(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Variant => "variant",
            Self::Field => "field",
        }
    }

    fn known_keys(self) -> &'static str {
        match self {
            Self::Type => r#"`name = "..."`, `crate = path`"#,
            Self::Variant => r#"`name = "..."`"#,
            Self::Field => r#"`authoritative`, `observation`, `presentation`, `derived`, `name = "..."`"#,
        }
    }
}

/// What all `#[canonical(...)]` of one type, variant or field say together.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<LitStr>,
    pub(crate) crate_path: Option<Path>,
    pub(crate) role: Option<Role>,
}

impl Attributes {
    /// Reads the attributes of one place; those of other macros are skipped.
    pub(crate) fn parse(attributes: &[Attribute], place: Place) -> Result<Self> {
        let mut read = Self::default();
        for attribute in attributes {
            if attribute.path().is_ident("canonical") {
                attribute.parse_nested_meta(|meta| read.parse_key(&meta, place))?;
            }
        }
        Ok(read)
    }

    fn parse_key(&mut self, meta: &ParseNestedMeta<'_>, place: Place) -> Result<()> {
        let span = meta.path.span();
        if meta.path.is_ident("name") {
            let name = meta.value()?.parse()?;
            check_name(&name, place)?;
            return put_once(&mut self.name, name, span, "name");
        }
        if place == Place::Type && meta.path.is_ident("crate") {
            let path = meta.value()?.parse()?;
            return put_once(&mut self.crate_path, path, span, "crate");
        }
        let role = Role::ALL.into_iter().find(|role| meta.path.is_ident(role.key()));
        match (role, place) {
            (Some(role), Place::Field) => self.put_role(role, span),
            (Some(role), _) => Err(meta.error(format!(
                "`{}` is a role of fields, but this is a {} (mark the fields that have it; known here: {})",
                role.key(),
                place.noun(),
                place.known_keys()
            ))),
            (None, _) => Err(meta.error(format!(
                "unknown key `{}` on a {} (known: {})",
                path_text(&meta.path),
                place.noun(),
                place.known_keys()
            ))),
        }
    }

    fn put_role(&mut self, role: Role, span: Span) -> Result<()> {
        if let Some(first) = self.role.replace(role) {
            let (first, second) = (first.key(), role.key());
            return Err(Error::new(
                span,
                format!(
                    "a field has one role, but both `{first}` and `{second}` are given (keep one of `authoritative`, \
                     `observation`, `presentation`, `derived`)"
                ),
            ));
        }
        Ok(())
    }
}

fn put_once<T>(slot: &mut Option<T>, value: T, span: Span, key: &str) -> Result<()> {
    if slot.replace(value).is_some() {
        return Err(Error::new(span, format!("`{key}` is given twice (keep one)")));
    }
    Ok(())
}

/// Names stand in texts that are parsed again: tapes as text, paths of divergences, plans.
fn check_name(name: &LitStr, place: Place) -> Result<()> {
    let text = name.value();
    let is_identifier = text.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && text.chars().all(|c| c == '_' || c.is_alphanumeric());
    let is_position = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (fits, rule) = match place {
        Place::Type => (
            !text.is_empty() && !text.contains(|c: char| c.is_control() || c.is_whitespace()),
            "use text without white space",
        ),
        Place::Variant => (is_identifier, "use an identifier"),
        Place::Field => (is_identifier || is_position, "use an identifier, or its position in a tuple"),
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(name.span(), format!("{text:?} is no name of a {} ({rule})", place.noun())))
}

fn path_text(path: &Path) -> String {
    let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    segments.join("::")
}
