package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.dev/sdk/go/wire"
)

// stepBody is a body whose input is still JSON.
type stepBody func(ctx context.Context, step *Step) (any, error)

// Binding binds a body to a step; [On] makes one.
type Binding struct {
	stepID string
	body   stepBody
}

// On binds a body to a task. The input of the step is read as In by encoding/json, and is the zero In where the step has
// none; into an any, numbers are read as json.Number, which keeps every digit. What the body returns is the output of
// the step. An input that is not what In takes fails the step.
//
// A body may run more than once, unless the delivery of its step is at_most_once: hand [Step.Key] to whatever it does to
// the world. Its context ends when its work is of no more use, with an [Interrupt] as its cause. An error fails the step
// for good; [Retryable] asks for another try, and [Fail] names a class. A panic is an error.
func On[In, Out any](stepID string, body func(context.Context, *Step, In) (Out, error)) Binding {
	return Binding{stepID, func(ctx context.Context, step *Step) (any, error) {
		var input In
		if step.lease.Input != nil {
			read, err := wire.Decode[In](step.lease.Input)
			if err != nil {
				wrong := fmt.Errorf("the input of step %s is not what its body takes: %w", stepID, err)
				return nil, Fail("fatal", wrong, WithCode("invalid_input"))
			}
			input = read
		}
		return body(ctx, step, input)
	}}
}

// Workflow is a definition and the bodies of its tasks. It is an option of [NewWorker], and a definition for
// [Client.StoreDefinitions].
type Workflow struct {
	id         string
	version    int64
	definition wire.Object
	tasks      []string
	bodies     map[string]stepBody
}

// NewWorkflow reads a definition, and binds bodies to its tasks. The service says what is wrong with a definition when
// it is registered. It returns an [*ArgumentError] where it is no definition, or where a binding names no task of it, or
// one a second time.
func NewWorkflow(definition []byte, bindings ...Binding) (*Workflow, error) {
	read, err := wire.Decode[struct {
		ID      string `json:"id"`
		Version int64  `json:"version"`
		Steps   []struct {
			ID   string `json:"id"`
			Kind string `json:"kind"`
		} `json:"steps"`
	}](definition)
	if err == nil && (read.ID == "" || read.Version < 1 || !json.Valid(definition)) {
		err = errors.New("it is no JSON object with id, version and steps")
	}
	if err != nil {
		return nil, &ArgumentError{What: "the definition", Err: err}
	}
	w := &Workflow{
		id: read.ID, version: read.Version, definition: slices.Clone(definition), bodies: map[string]stepBody{},
	}
	for _, step := range read.Steps {
		if step.Kind == "task" {
			w.tasks = append(w.tasks, step.ID)
		}
	}
	for _, binding := range bindings {
		if !slices.Contains(w.tasks, binding.stepID) {
			return nil, &ArgumentError{What: w.String(), Err: fmt.Errorf("it has no task %q", binding.stepID)}
		}
		if w.bodies[binding.stepID] != nil {
			return nil, &ArgumentError{What: w.String(), Err: fmt.Errorf("task %q has a body already", binding.stepID)}
		}
		w.bodies[binding.stepID] = binding.body
	}
	return w, nil
}

// MustWorkflow is [NewWorkflow] for definitions that are a part of the program: it panics on an error.
func MustWorkflow(definition []byte, bindings ...Binding) *Workflow {
	w, err := NewWorkflow(definition, bindings...)
	if err != nil {
		panic(err)
	}
	return w
}

// ID is that of the definition.
func (w *Workflow) ID() string { return w.id }

// Version is that of the definition.
func (w *Workflow) Version() int64 { return w.version }

// MarshalJSON gives the definition.
func (w *Workflow) MarshalJSON() ([]byte, error) { return w.definition, nil }

func (w *Workflow) String() string { return fmt.Sprintf("workflow %s version %d", w.id, w.version) }

func (w *Workflow) applyToWorker(config *workerConfig) {
	config.workflows = append(config.workflows, w)
}

// check says which tasks no body serves.
func (w *Workflow) check() error {
	missing := slices.DeleteFunc(slices.Clone(w.tasks), func(task string) bool { return w.bodies[task] != nil })
	if len(missing) == 0 {
		return nil
	}
	return &ArgumentError{What: w.String(), Err: errors.New("it has no body for: " + strings.Join(missing, ", "))}
}
