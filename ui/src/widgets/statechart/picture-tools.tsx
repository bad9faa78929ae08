import { useReactFlow } from '@xyflow/react';
import { Maximize, Minus, Plus } from 'lucide-react';
import { Button } from '../button.tsx';
import css from './statechart.module.css';

/** How a picture that is shown completely lies in its frame. */
const FIT = { padding: 0.04, maxZoom: 1 } as const;

/** Zoom of a picture, by buttons: the wheel scrolls the page. */
export const PictureTools = () => {
  const flow = useReactFlow();
  return (
    <div className={css['tools']}>
      <Button aria-label="Zoom in" title="Zoom in" onClick={() => void flow.zoomIn()}>
        <Plus size={14} aria-hidden />
      </Button>
      <Button aria-label="Zoom out" title="Zoom out" onClick={() => void flow.zoomOut()}>
        <Minus size={14} aria-hidden />
      </Button>
      <Button aria-label="Show all of it" title="Show all of it" onClick={() => void flow.fitView(FIT)}>
        <Maximize size={14} aria-hidden />
      </Button>
    </div>
  );
};
