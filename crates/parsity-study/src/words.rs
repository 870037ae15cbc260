//! A closed set of words: an enum whose values are written in one way everywhere.
//!
//! Apart so that files, canonical texts, messages and schemas cannot spell a choice
//! differently.

/// Declares an enum of words, with `ALL`, `name`, `from_name`, display, serde and schema.
macro_rules! words {
    ($(#[$about:meta])* pub enum $Name:ident {
        $($(#[$variant_about:meta])* $Variant:ident = $word:literal,)+
    }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $Name {
            $($(#[$variant_about])* #[serde(rename = $word)] $Variant,)+
        }

        impl $Name {
            /// All of them, in the order of tables and legends.
            pub const ALL: &'static [$Name] = &[$($Name::$Variant),+];

            /// The word for it, in files, tables and the store.
            pub fn name(self) -> &'static str {
                match self {
                    $($Name::$Variant => $word,)+
                }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == name)
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use words;
