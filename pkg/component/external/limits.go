package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Limits of what a Kind returns, in bytes.
const (
	MaxID       = 1 << 10
	MaxState    = 64 << 10
	MaxObserved = 256 << 10
)

// Limits of what a service and its client send.
const (
	// maxDocument is the maximum size of a call and of an answer, in bytes, and maxDocumentHead a bound of the part of it
	// without externals and references.
	maxDocument     = 1 << 20
	maxDocumentHead = 1 << 10
	// maxRetryAfter is the maximum delay that a service can request.
	maxRetryAfter = time.Hour
)

// maxText is the maximum size of a text for users, in bytes.
const maxText = 1 << 10

// shortestSecret is the length of the shortest texts of Secrets that are removed from texts for users.
const shortestSecret = 4

// checkID checks the id of an external.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("the id of the external is empty")
	case len(id) > MaxID:
		return fmt.Errorf("the id of the external has %d bytes; the limit is %d", len(id), MaxID)
	case !printable(id):
		return errors.New("the id of the external has characters that cannot be printed")
	}
	return nil
}

// checkState checks the state of an external.
func checkState(state []byte) error {
	if len(state) > MaxState {
		return fmt.Errorf("the state of the external has %d bytes; the limit is %d", len(state), MaxState)
	}
	return nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// canonical returns JSON without spaces and with the keys of maps in alphabetical order, so that equal values have
// equal texts. Numbers keep their text.
func canonical(text []byte) (json.RawMessage, error) {
	value, err := decodeValue(text)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// decodeValue decodes JSON with numbers as json.Number.
func decodeValue(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, nil
}

// observedJSON checks the JSON form of an observed state and returns its canonical form.
func observedJSON(text []byte) (json.RawMessage, error) {
	observed, err := canonical(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the observed state is not valid JSON: %w", err)
	case string(observed) == "null":
		return nil, errors.New("there is neither an observed state nor an error")
	case len(observed) > MaxObserved:
		return nil, fmt.Errorf("the observed state has %d bytes; the limit is %d", len(observed), MaxObserved)
	}
	return observed, nil
}

// readable returns a text for users: valid, bounded, and without the contents of the given Secrets.
func readable(text string, references generator.References) string {
	for _, secret := range secretTexts(references) {
		text = strings.ReplaceAll(text, secret, "(redacted)")
	}
	return shortened(strings.ToValidUTF8(text, "\uFFFD"), maxText)
}

// secretTexts returns the lines of the given Secrets, the longest first.
func secretTexts(references generator.References) []string {
	var texts []string
	for reference, data := range references {
		if reference.Kind != metav1alpha1.SecretReference {
			continue
		}
		for _, content := range data {
			for line := range strings.Lines(string(content)) {
				if line = strings.TrimSpace(line); len(line) >= shortestSecret {
					texts = append(texts, line)
				}
			}
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return texts
}

// shortened returns a text with at most limit bytes. The text must be valid.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
