import type { EnumModel, Member, Models, ObjectModel, Type } from './models.ts';
import { camelCase, wrap } from './text.ts';

const WIDTH = 100;
const PACKAGE = 'dev.svc.wire';

/** Words that Java keeps for itself, among the names of members. */
const RESERVED: ReadonlySet<string> = new Set(['class', 'default', 'final', 'import', 'package', 'public', 'static']);
const componentName = (name: string): string => camelCase(RESERVED.has(name) ? `${name}_` : name);

const constantName = (value: string): string => value.toUpperCase().replace(/\W/g, '_');

/** A text as Javadoc: words in backticks are code, and what HTML would read is not. */
const asJavadoc = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '&#64;')
    .replace(/`([^`]*)`/g, '{@code $1}');

const javadoc = (lines: readonly string[], indent: string): readonly string[] =>
  lines.length === 0 ? [] : [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];

const typeName = (type: Type, isBoxed: boolean): string => {
  switch (type.kind) {
    case 'text':
      return 'String';
    case 'integer':
      return isBoxed ? 'Long' : 'long';
    case 'number':
      return isBoxed ? 'Double' : 'double';
    case 'boolean':
      return isBoxed ? 'Boolean' : 'boolean';
    case 'json':
      return 'JsonNode';
    case 'json_object':
      return 'ObjectNode';
    case 'list':
      return `List<${typeName(type.of, true)}>`;
    case 'map':
      return `Map<String, ${typeName(type.of, true)}>`;
    default:
      return type.name;
  }
};
const typeOf = (member: Member): string => typeName(member.type, !member.isRequired || member.isNullable);

const IMPORTS: readonly (readonly [RegExp, string])[] = [
  [/@JsonCreator/, 'com.fasterxml.jackson.annotation.JsonCreator'],
  [/@JsonIgnoreProperties/, 'com.fasterxml.jackson.annotation.JsonIgnoreProperties'],
  [/@JsonInclude/, 'com.fasterxml.jackson.annotation.JsonInclude'],
  [/@JsonProperty/, 'com.fasterxml.jackson.annotation.JsonProperty'],
  [/@JsonValue/, 'com.fasterxml.jackson.annotation.JsonValue'],
  [/\bJsonNode\b/, 'com.fasterxml.jackson.databind.JsonNode'],
  [/\bJsonNodeFactory\b/, 'com.fasterxml.jackson.databind.node.JsonNodeFactory'],
  [/\bObjectNode\b/, 'com.fasterxml.jackson.databind.node.ObjectNode'],
  [/\bList\b[<.]/, 'java.util.List'],
  [/\bMap\b[<.]/, 'java.util.Map'],
  [/\bObjects\./, 'java.util.Objects'],
];

/** A file of one public type, with the imports that its text needs. */
const fileOf = (name: string, body: readonly string[]): JavaFile => {
  const text = body.join('\n');
  const imports = IMPORTS.filter(([use]) => use.test(text)).map(([, path]) => `import ${path};`);
  return { name, text: `\npackage ${PACKAGE};\n\n${imports.join('\n')}\n\n${text}\n` };
};

const component = (member: Member): string => {
  // Null is written here: it says that there is no value.
  const always = member.isNullable ? '@JsonInclude ' : '';
  return `    ${always}@JsonProperty("${member.name}") ${typeOf(member)} ${componentName(member.name)}`;
};

const builderOf = ({ name, members }: ObjectModel): readonly string[] => [
  '',
  ...javadoc(['Begins one, with nothing set.', '', '@return a builder'], '  '),
  '  public static Builder builder() {',
  '    return new Builder();',
  '  }',
  '',
  `  /** Makes a {@link ${name}}; what is not set is absent. */`,
  '  public static final class Builder {',
  ...members.map((member) => `    private ${typeOf(member)} ${componentName(member.name)};`),
  '',
  '    private Builder() {}',
  ...members.flatMap((member) => {
    const own = componentName(member.name);
    return [
      '',
      ...javadoc(
        [
          ...wrap(asJavadoc(member.doc === '' ? `Sets \`${member.name}\`.` : member.doc), WIDTH - 7),
          '',
          `@param ${own} the value`,
          '@return this',
        ],
        '    ',
      ),
      `    public Builder ${own}(${typeOf(member)} ${own}) {`,
      `      this.${own} = ${own};`,
      '      return this;',
      '    }',
    ];
  }),
  '',
  ...javadoc(['Makes it.', '', '@return what was set'], '    '),
  `    public ${name} build() {`,
  `      return new ${name}(`,
  ...members.map((member, at) => `          ${componentName(member.name)}${at === members.length - 1 ? ');' : ','}`),
  '    }',
  '  }',
];

const recordOf = (model: ObjectModel): JavaFile => {
  const { name, doc, members, isSent } = model;
  const components = members.flatMap((member) => {
    const said = member.doc === '' ? `\`${member.name}\`.` : member.doc;
    const absence = member.isNullable
      ? ' Null where there is none.'
      : member.isRequired
        ? ''
        : ' Null where it is absent.';
    // Lines after the first are indented by four more.
    const [first = '', ...rest] = wrap(`@param ${componentName(member.name)} ${asJavadoc(said + absence)}`, WIDTH - 7);
    return [first, ...rest.map((line) => `    ${line}`)];
  });
  const settled = members.flatMap(({ name: key, type, isRequired }) => {
    const own = componentName(key);
    const start = `    ${own} = ${own} == null ?`;
    if (!isRequired) return [];
    if (type.kind === 'list') return [`${start} List.of() : List.copyOf(${own});`];
    if (type.kind === 'map') return [`${start} Map.of() : Map.copyOf(${own});`];
    return type.kind === 'json_object' ? [`${start} JsonNodeFactory.instance.objectNode() : ${own};`] : [];
  });
  const constructor =
    settled.length === 0
      ? []
      : [
          '',
          ...javadoc(
            [
              'Copies lists and maps; a required list, map or object that is missing is empty.',
              '',
              ...members.map((member) => `@param ${componentName(member.name)} {@code ${member.name}}`),
            ],
            '  ',
          ),
          `  public ${name} {`,
          ...settled,
          '  }',
        ];
  const body = [...constructor, ...(isSent ? builderOf(model) : [])].slice(1);
  return fileOf(name, [
    ...javadoc(
      [...wrap(asJavadoc(doc === '' ? `\`${name}\` of the interface.` : doc), WIDTH - 3), '', ...components],
      '',
    ),
    '@JsonIgnoreProperties(ignoreUnknown = true)',
    '@JsonInclude(JsonInclude.Include.NON_NULL)',
    `public record ${name}(`,
    members.map(component).join(',\n'),
    ...(body.length === 0 ? [') {}'] : [') {', ...body, '}']),
  ]);
};

const enumOf = ({ name, doc, values }: EnumModel): JavaFile =>
  fileOf(name, [
    ...javadoc(
      [
        ...wrap(asJavadoc(`${doc} An open enum: a newer service may send other values.`.trim()), WIDTH - 3),
        '',
        '@param value the value as it is on the wire',
      ],
      '',
    ),
    `public record ${name}(String value) {`,
    ...values.flatMap((value) => [
      `  /** {@code ${value}}. */`,
      `  public static final ${name} ${constantName(value)} = new ${name}("${value}");`,
      '',
    ]),
    ...javadoc(['Takes any text but null.', '', '@param value the value as it is on the wire'], '  '),
    '  public ' + name + ' {',
    '    Objects.requireNonNull(value, "value");',
    '  }',
    '',
    ...javadoc(['The value as it is on the wire.', '', '@return the value'], '  '),
    // On the component, the annotation would stand on its field too: Jackson takes one alone.
    '  @JsonValue',
    '  @Override',
    '  public String value() {',
    '    return value;',
    '  }',
    '',
    '  @JsonCreator',
    `  static ${name} of(String value) {`,
    `    return new ${name}(value);`,
    '  }',
    '',
    '  /** The value as it is on the wire. */',
    '  @Override',
    '  public String toString() {',
    '    return value;',
    '  }',
    '}',
  ]);

const PACKAGE_INFO = `
/**
 * The JSON that the service takes and gives, as records that Jackson reads and writes.
 *
 * <p>Members that a record does not have are ignored, and an enum keeps values that it does not
 * know: a newer service says more. A component is null where its member is absent; where null is a
 * value, it is a {@link com.fasterxml.jackson.databind.node.NullNode}. Integers have 64 bits.
 */
package ${PACKAGE};
`;

const specOf = (version: string): string => `
package ${PACKAGE};

/** The data model that this package was made from. */
public final class Spec {
  /** Its version. A service of another major is not understood. */
  public static final String VERSION = "${version}";

  private Spec() {}
}
`;

export type JavaFile = { readonly name: string; readonly text: string };

/** The models as records of Java 17 and later, a file each. */
export const emitJava = ({ specVersion, objects, enums }: Models): readonly JavaFile[] => [
  { name: 'package-info', text: PACKAGE_INFO },
  { name: 'Spec', text: specOf(specVersion) },
  ...enums.map(enumOf),
  ...objects.map(recordOf),
];
