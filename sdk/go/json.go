package svc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/sdk/go/wire"
)

// encode writes JSON without escapes for HTML. A value whose own encoder panics is an error.
func encode(value any) (text []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			text, err = nil, fmt.Errorf("its encoder panics: %v", fault)
		}
	}()
	var into bytes.Buffer
	encoder := json.NewEncoder(&into)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(into.Bytes(), []byte("\n")), nil
}

// encodeObject writes a value that must be a JSON object; nil is {}.
func encodeObject(value any) (wire.Object, error) {
	if value == nil {
		return wire.Object("{}"), nil
	}
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(text, []byte("null")) {
		return wire.Object("{}"), nil
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, errors.New("it is not a JSON object")
	}
	return wire.Object(text), nil
}
