package svc

// arena keeps the texts of queued signals in blocks that are used again and again. A queue that is full, and drops its
// oldest all the time, would else leave so much to the collector that the process grows to several times its bound.
type arena struct {
	filling *block
	spare   []*block
}

// block holds texts one after the other.
type block struct {
	text []byte
	// held counts the texts that are still in use.
	held int
}

const (
	blockBytes = 256 << 10
	mostSpare  = 8
)

// keep copies a text into a block. A large one has memory of its own, and no block.
func (a *arena) keep(text []byte) ([]byte, *block) {
	if len(text) > blockBytes/4 {
		return append(make([]byte, 0, len(text)), text...), nil
	}
	if a.filling == nil || cap(a.filling.text)-len(a.filling.text) < len(text) {
		a.begin()
	}
	in := a.filling
	from := len(in.text)
	in.text = append(in.text, text...)
	in.held++
	return in.text[from:], in
}

// begin finds a block to fill.
func (a *arena) begin() {
	switch last := len(a.spare) - 1; {
	case a.filling != nil && a.filling.held == 0:
		a.filling.text = a.filling.text[:0]
	case last >= 0:
		a.filling, a.spare = a.spare[last], a.spare[:last]
	default:
		a.filling = &block{text: make([]byte, 0, blockBytes)}
	}
}

// release says that a text of a block is no longer in use; nil for one that has no block.
func (a *arena) release(in *block) {
	if in == nil {
		return
	}
	in.held--
	if in.held == 0 && in != a.filling && len(a.spare) < mostSpare {
		in.text = in.text[:0]
		a.spare = append(a.spare, in)
	}
}
