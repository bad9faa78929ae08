import { describe, expect, it } from 'vitest';
import { emitCpp, emitCppHeader } from '../../tools/codegen/emit-cpp.ts';
import { emitGo } from '../../tools/codegen/emit-go.ts';
import { emitJava } from '../../tools/codegen/emit-java.ts';
import { emitPython } from '../../tools/codegen/emit-python.ts';
import { emitRust } from '../../tools/codegen/emit-rust.ts';
import { type Models, readModels } from '../../tools/codegen/models.ts';

/** What is read of one operation that answers with the schema `Thing`. */
const read = (schemas: Record<string, object>): Models =>
  readModels({
    info: { version: '3.1' },
    paths: {
      '/things': {
        get: {
          operationId: 'getThing',
          responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } } },
        },
      },
    },
    components: { schemas: { ErrorBody: { type: 'object', properties: { code: { type: 'string' } } }, ...schemas } },
  });
const thing = (properties: Record<string, object>, required: readonly string[] = []) =>
  read({
    Thing: { type: 'object', properties, required },
    Stamp: { type: 'string', description: 'RFC 3339, UTC' },
    Part: { type: 'object', required: ['a'], properties: { a: { type: 'string' }, note: { enum: ['x', 'y'] } } },
  });
const memberOf = (models: Models, name: string, object = 'Thing') => {
  const member = models.objects.find((each) => each.name === object)?.members.find((each) => each.name === name);
  if (member === undefined) throw new Error(`no member ${name}`);
  return member;
};

describe('the models that all libraries share', () => {
  it('a member that is not required may be absent, and is not null', () => {
    const models = thing({ a: { type: 'string' }, b: { type: 'string' } }, ['a']);
    expect(memberOf(models, 'a')).toMatchObject({ isRequired: true, isNullable: false });
    expect(memberOf(models, 'b')).toMatchObject({ isRequired: false, isNullable: false });
  });

  it('a required member may be null; one that may be null and absent is refused', () => {
    const nullable = { n: { type: ['integer', 'null'] } };
    expect(memberOf(thing(nullable, ['n']), 'n')).toMatchObject({ type: { kind: 'integer' }, isNullable: true });
    expect(() => thing(nullable)).toThrow('Thing.n may be null and may be absent');
  });

  it('an object of several parts has the members of all, and what a part brings keeps the name of the part', () => {
    const models = read({
      Base: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string' }, hold: { type: 'object', properties: { since: { type: 'string' } } } },
      },
      Thing: {
        allOf: [{ $ref: '#/components/schemas/Base' }, { type: 'object', properties: { more: { type: 'boolean' } } }],
      },
    });
    expect(models.objects.map(({ name }) => name)).toEqual(['BaseHold', 'ErrorBody', 'Thing']);
    expect(memberOf(models, 'id').isRequired).toBe(true);
    expect(memberOf(models, 'hold').type).toEqual({ kind: 'object', name: 'BaseHold' });
    expect(memberOf(models, 'more').type).toEqual({ kind: 'boolean' });
  });

  it('one value or a list of them is a list; any other choice is any JSON', () => {
    const part = { $ref: '#/components/schemas/Part' };
    const models = thing({
      either: { anyOf: [part, { type: 'array', items: part }] },
      mixed: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    });
    expect(memberOf(models, 'either').type).toEqual({ kind: 'list', of: { kind: 'object', name: 'Part' } });
    expect(memberOf(models, 'mixed').type).toEqual({ kind: 'json' });
  });

  it('an object without members is any object, one of equal members a map', () => {
    const models = thing({
      free: { type: 'object', additionalProperties: true },
      counts: { type: 'object', additionalProperties: { type: 'integer' } },
    });
    expect(memberOf(models, 'free').type).toEqual({ kind: 'json_object' });
    expect(memberOf(models, 'counts').type).toEqual({ kind: 'map', of: { kind: 'integer' } });
  });

  it('what has no name is named after where it is, in the singular where it is one of many', () => {
    const models = thing({
      parts: { type: 'array', items: { type: 'object', properties: { mode: { type: 'string', enum: ['a'] } } } },
    });
    expect(models.objects.map(({ name }) => name)).toEqual(['ErrorBody', 'Thing', 'ThingPart']);
    expect(models.enums).toEqual([{ name: 'ThingPartMode', doc: '', values: ['a'] }]);
  });

  it('every member says its unit: by its own words, those of its type, or its name', () => {
    const models = thing({
      at: { $ref: '#/components/schemas/Stamp' },
      wait_ms: { type: 'integer', description: 'How long' },
      held_ms: { type: 'integer', description: 'How many milliseconds' },
    });
    expect(memberOf(models, 'at').doc).toBe('RFC 3339, UTC.');
    expect(memberOf(models, 'wait_ms').doc).toBe('How long. Milliseconds.');
    expect(memberOf(models, 'held_ms').doc).toBe('How many milliseconds.');
  });
});

describe('the emitters', () => {
  const models = thing(
    {
      class: { type: 'string', description: 'Says `why`' },
      count: { type: 'integer' },
      any: {},
      object: { type: 'object', additionalProperties: true },
      parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
      nothing: { type: ['number', 'null'] },
    },
    ['class', 'object', 'nothing'],
  );

  it('Python: an optional member is None, one of any JSON is ABSENT, a reserved word gets an underscore', () => {
    expect(emitPython(models)).toContain(
      [
        'class Thing(Model):',
        '    class_: str',
        '    """Says ``why``."""',
        '    count: int | None = None',
        '    any: Any = ABSENT',
        '    object: JsonObject',
        '    parts: Sequence[Part] | None = None',
        '    nothing: float | None',
        '\n',
      ].join('\n'),
    );
  });

  it('Go: a number that is absent is nil, any JSON is its text, and what is null is written', () => {
    expect(emitGo(models)).toContain(
      [
        'type Thing struct {',
        '\t// Says `why`.',
        '\tClass   string          `json:"class"`',
        '\tCount   *int64          `json:"count,omitempty"`',
        '\tAny     json.RawMessage `json:"any,omitempty"`',
        '\tObject  Object          `json:"object"`',
        '\tParts   List[Part]      `json:"parts,omitzero"`',
        '\tNothing *float64        `json:"nothing"`',
        '}',
      ].join('\n'),
    );
  });

  it('Rust: null in a member of any JSON is not taken for an absent one', () => {
    const rust = emitRust(models);
    expect(rust).toContain(
      [
        '    #[serde(skip_serializing_if = "Option::is_none")]',
        '    pub count: Option<i64>,',
        '    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]',
        '    pub any: Option<Value>,',
        '    pub object: Object,',
      ].join('\n'),
    );
    expect(rust).toContain('    pub nothing: Option<f64>,\n}');
  });

  it('Java: what may be absent is boxed, and only what a member must hold is written as null', () => {
    const record = emitJava(models).find(({ name }) => name === 'Thing')?.text;
    expect(record).toContain(
      [
        'public record Thing(',
        '    @JsonProperty("class") String class_,',
        '    @JsonProperty("count") Long count,',
        '    @JsonProperty("any") JsonNode any,',
        '    @JsonProperty("object") ObjectNode object,',
        '    @JsonProperty("parts") List<Part> parts,',
        '    @JsonInclude @JsonProperty("nothing") Double nothing',
        ') {',
      ].join('\n'),
    );
  });

  it('C++: what may be absent is optional, and an object stands before those that hold it', () => {
    const header = emitCppHeader(models);
    expect(header).toContain(
      [
        'struct Thing {',
        '  /// Says `why`.',
        '  std::string class_{};',
        '  std::optional<std::int64_t> count{};',
        '  std::optional<Json> any{};',
        '  Json object = Json::object();',
        '  std::optional<std::vector<Part>> parts{};',
        '  std::optional<double> nothing{};',
        '};',
      ].join('\n'),
    );
    expect(header.indexOf('struct Part {')).toBeLessThan(header.indexOf('struct Thing {'));
    expect(emitCpp(models)).toContain('  put_nullable(out, "nothing", value.nothing);');
  });

  it('only what a caller sends has a builder in Java', () => {
    const request = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Sent' } } } };
    const answer = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Got' } } } };
    const object = { type: 'object', properties: { a: { type: 'string' } } };
    const files = emitJava(
      readModels({
        info: { version: '3.1' },
        paths: { '/x': { post: { operationId: 'x', requestBody: request, responses: { 200: answer } } } },
        components: { schemas: { Sent: object, Got: object, ErrorBody: object } },
      }),
    );
    expect(files.find(({ name }) => name === 'Sent')?.text).toContain('public static final class Builder');
    expect(files.find(({ name }) => name === 'Got')?.text).not.toContain('Builder');
  });

  it('each says which version of the data model it was made from', () => {
    expect(emitPython(models)).toContain('SPEC_VERSION: Final = "3.1"');
    expect(emitGo(models)).toContain('const SpecVersion = "3.1"');
    expect(emitRust(models)).toContain('pub const SPEC_VERSION: &str = "3.1";');
    expect(emitJava(models).find(({ name }) => name === 'Spec')?.text).toContain('String VERSION = "3.1";');
    expect(emitCppHeader(models)).toContain('spec_version = "3.1";');
  });

  it('enums stay open: Python takes any text, Go has a type over it', () => {
    expect(emitPython(models)).toContain(
      'PartNote: TypeAlias = (\n    Literal[\n        "x",\n        "y",\n    ]\n    | str\n)',
    );
    expect(emitGo(models)).toContain('type PartNote string\n');
    expect(emitGo(models)).toContain('\tPartNoteX PartNote = "x"\n\tPartNoteY PartNote = "y"\n');
  });
});
