package yamlkeys

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Document parses a file of one document, and returns its content; nil if the file is
// empty. A second document is refused: a reader that stopped at the first would
// silently ignore what somebody appended after "---".
func Document(b []byte) (*yaml.Node, error) {
	var first, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second document begins; put everything into one, without %q", second.Line, "---")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}
