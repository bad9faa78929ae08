import type { EnumModel, Member, Models, ObjectModel, Type } from './models.ts';
import { pascalCase, wrap } from './text.ts';

const WIDTH = 100;

/** Reserved words among the names of members; serde knows the raw spelling. */
const RESERVED: ReadonlySet<string> = new Set(['type', 'match', 'ref', 'in', 'use', 'where', 'move', 'self', 'loop']);
const fieldName = (name: string): string => (RESERVED.has(name) ? `r#${name}` : name);

const docs = (text: string, indent: string): readonly string[] =>
  wrap(text, WIDTH - indent.length - 4).map((line) => `${indent}/// ${line}`);

const typeName = (type: Type): string => {
  switch (type.kind) {
    case 'text':
      return 'String';
    case 'integer':
      return 'i64';
    case 'number':
      return 'f64';
    case 'boolean':
      return 'bool';
    case 'json':
      return 'Value';
    case 'json_object':
      return 'Object';
    case 'list':
      return `Vec<${typeName(type.of)}>`;
    case 'map':
      return `BTreeMap<String, ${typeName(type.of)}>`;
    default:
      return type.name;
  }
};

const field = (member: Member): readonly string[] => {
  const name = fieldName(member.name);
  const type = typeName(member.type);
  const said = docs(member.doc, '    ');
  if (member.isRequired) return [...said, `    pub ${name}: ${member.isNullable ? `Option<${type}>` : type},`];
  // serde takes null for None; where null is a value, only what is absent is.
  const attributes =
    member.type.kind === 'json'
      ? [`    #[serde(default, deserialize_with = "present", ${SKIP})]`]
      : [`    #[serde(${SKIP})]`];
  return [...said, ...attributes, `    pub ${name}: Option<${type}>,`];
};
const SKIP = 'skip_serializing_if = "Option::is_none"';

/** Objects that can begin empty: no required member of theirs has to be one of several values. */
const defaultable = (objects: readonly ObjectModel[]): ReadonlySet<string> => {
  const byName = new Map(objects.map((object) => [object.name, object]));
  const isDefaultable = (name: string): boolean =>
    (byName.get(name)?.members ?? []).every(
      ({ isRequired, type }) =>
        !isRequired || (type.kind !== 'enum' && (type.kind !== 'object' || isDefaultable(type.name))),
    );
  return new Set([...byName.keys()].filter(isDefaultable));
};

const structOf = ({ name, doc, members }: ObjectModel, hasDefault: boolean): readonly string[] => [
  ...docs(doc === '' ? `\`${name}\` of the interface.` : doc, ''),
  `#[derive(Debug, Clone, PartialEq, ${hasDefault ? 'Default, ' : ''}Serialize, Deserialize)]`,
  `pub struct ${name} {`,
  ...members.flatMap(field),
  '}',
];

const enumOf = ({ name, doc, values }: EnumModel): readonly string[] => [
  'open_enum! {',
  ...docs(doc === '' ? `\`${name}\` of the interface.` : doc, '    '),
  `    ${name} {`,
  ...values.map((value) => `        ${pascalCase(value)} = ${JSON.stringify(value)},`),
  '    }',
  '}',
];

const PRELUDE = `
//! The JSON that the service takes and gives.
//!
//! Members that a struct does not have are ignored, and an enum keeps a value that it does not know
//! as \`Other\`: a newer service says more. A member that is absent is \`None\`. Where null is a value,
//! \`Some(Value::Null)\` is null. Integers have 64 bits.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object of any JSON.
pub type Object = serde_json::Map<String, Value>;

/// Reads a member that is there, null or not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("\`", $text, "\`")]
                $variant,
            )+
            /// A value that this version of the library does not know.
            Other(String),
        }

        impl $name {
            /// The value as it is on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
            }
        }
    };
}`;

/** The models as a module of Rust 1.85 and later, as rustfmt lays it out. */
export const emitRust = ({ specVersion, objects, enums }: Models): string => {
  const withDefault = defaultable(objects);
  return `${[
    PRELUDE,
    '\n/// Of the data model that this module was made from. A service of another major is not understood.',
    `pub const SPEC_VERSION: &str = "${specVersion}";`,
    ...enums.map((each) => `\n${enumOf(each).join('\n')}`),
    ...objects.map((each) => `\n${structOf(each, withDefault.has(each.name)).join('\n')}`),
  ].join('\n')}\n`;
};
