import { Fragment, useMemo } from 'react';
import { type Block, type Inline, readMarkdown } from '../model/markdown.ts';
import css from './conversation-view.module.css';

const Inlines = ({ inner }: { readonly inner: readonly Inline[] }) =>
  inner.map((part, at) => {
    const key = `${at}${part.kind}`;
    switch (part.kind) {
      case 'text':
        return <Fragment key={key}>{part.text}</Fragment>;
      case 'code':
        return <code key={key}>{part.text}</code>;
      case 'break':
        return <br key={key} />;
      default: {
        const Mark = part.kind;
        return (
          <Mark key={key}>
            <Inlines inner={part.inner} />
          </Mark>
        );
      }
    }
  });

/** Headings of a payload are no headings of the page: they are strong lines. */
const One = ({ block }: { readonly block: Block }) => {
  switch (block.kind) {
    case 'paragraph':
      return (
        <p>
          <Inlines inner={block.inner} />
        </p>
      );
    case 'heading':
      return (
        <p>
          <b>
            <Inlines inner={block.inner} />
          </b>
        </p>
      );
    case 'code':
      return <div className={css['code']}>{block.text}</div>;
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case 'list': {
      const items = block.items.map((item, at) => (
        <li key={at}>
          <Blocks blocks={item} />
        </li>
      ));
      return block.first === undefined ? <ul>{items}</ul> : <ol start={block.first}>{items}</ol>;
    }
    case 'table':
      return (
        <table>
          <thead>
            <tr>
              {block.head.map((cell, at) => (
                <th key={at}>
                  <Inlines inner={cell} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {block.rows.map((row, line) => (
              <tr key={line}>
                {row.map((cell, at) => (
                  <td key={at}>
                    <Inlines inner={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    default:
      return <hr />;
  }
};

const Blocks = ({ blocks }: { readonly blocks: readonly Block[] }) =>
  blocks.map((block, at) => <One key={`${at}${block.kind}`} block={block} />);

/** Markdown as its reader asked for it: text alone, with no link to follow and no image to load. */
export default function MarkdownView({ text }: { readonly text: string }) {
  const blocks = useMemo(() => readMarkdown(text), [text]);
  if (blocks === undefined)
    return <p className={css['what']}>Too long or nested too deep for Markdown: read it plain.</p>;
  return (
    <div className={css['markdown']}>
      <Blocks blocks={blocks} />
    </div>
  );
}
