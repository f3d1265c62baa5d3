package externalstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Intent is a call whose result is not stored yet.
type Intent string

// The intents.
const (
	IntentNone   Intent = ""
	IntentCreate Intent = "Create"
	IntentDelete Intent = "Delete"
)

// State is the recorded state of an external. Its JSON form is part of the format of values.
type State struct {
	// Token identifies the attempts to create the external: 40 hexadecimal digits.
	Token string `json:"token"`
	// Attempts is the number of the creates that were begun with this token.
	Attempts int `json:"attempts,omitempty"`
	// Intent is the call whose result is not stored yet, and Since the time when the intent was stored.
	Intent Intent    `json:"intent,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Began is the time at which the last attempt to create or to delete the external was stored. Since is that of the
	// first one. The call begins within Window after Began, and ends within twice Window.
	Began  time.Time     `json:"began,omitzero"`
	Window time.Duration `json:"window,omitempty"`
	// ID and Data are the fields ID and State of external.Created.
	ID   string `json:"id,omitempty"`
	Data []byte `json:"data,omitempty"`
	// Manifest is the manifest that was applied last, or is being created, with its annotations. It is empty if no
	// manifest was applied.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	// References are the Secrets and ConfigMaps of the manifest.
	References []metav1alpha1.Reference `json:"references,omitempty"`
	// Gone is set if the external was deleted or released. The key is removed when the inventory contains no entry.
	Gone bool `json:"gone,omitempty"`
}

// maxValue is the maximum size of the JSON of a state, in bytes. It is larger than the sum of the limits of its parts
// in base64.
const maxValue = 192 << 10

// maxWindow is the maximum time in which a call may begin.
const maxWindow = 365 * 24 * time.Hour

var (
	token = regexp.MustCompile(`^[0-9a-f]{40}$`)
	kind  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
)

// check returns all reasons why a state cannot be written.
func (s *State) check() error {
	var errs []error
	if !token.MatchString(s.Token) {
		errs = append(errs, fmt.Errorf("the token %q must have 40 hexadecimal digits", s.Token))
	}
	switch s.Intent {
	case IntentNone, IntentCreate, IntentDelete:
	default:
		errs = append(errs, fmt.Errorf("the intent %q is unknown", s.Intent))
	}
	if s.Attempts < 0 {
		errs = append(errs, fmt.Errorf("the number of attempts is %d", s.Attempts))
	}
	if s.Window < 0 || s.Window > maxWindow {
		errs = append(errs, fmt.Errorf("the window %s is not between zero and %s", s.Window, maxWindow))
	}
	for _, at := range []time.Time{s.Since, s.Began} {
		if _, err := at.UTC().MarshalJSON(); err != nil {
			errs = append(errs, fmt.Errorf("the time %s cannot be stored: %w", at, err))
		}
	}
	if len(s.Manifest) > 0 && (s.Manifest[0] != '{' || !json.Valid(s.Manifest)) {
		errs = append(errs, errors.New("the manifest is not a JSON object"))
	}
	for _, part := range []struct {
		name       string
		size, most int
	}{
		{"manifest", len(s.Manifest), settingtext.MaxExternal},
		{"state that Create returned", len(s.Data), external.MaxState},
		{"id", len(s.ID), external.MaxID},
	} {
		if part.size > part.most {
			errs = append(errs, fmt.Errorf(
				"the %s has %d bytes, more than %d; make it smaller", part.name, part.size, part.most))
		}
	}
	return errors.Join(errs...)
}

// checkKey returns an error for a key that no manifest of an external has.
func checkKey(key manifests.Key) error {
	if !key.IsExternal() || key.Namespace != "" || !kind.MatchString(key.Kind) ||
		len(validation.IsDNS1123Subdomain(key.Name)) > 0 {
		return errors.New("this is not the key of an external: want the group " + manifests.ExternalGroup +
			", a kind of letters and digits, a DNS subdomain as name, and no namespace")
	}
	return nil
}

// maxDataKey is the maximum length of a key in the data of a Secret.
const maxDataKey = 253

// dataKeyOf returns the key in the data of a Secret. A kind has no dot, and no name has an underscore, so two externals
// never have the same key.
func dataKeyOf(key manifests.Key) string {
	text := key.Kind + "." + key.Name
	if len(text) <= maxDataKey {
		return text
	}
	digest := digestOf([]byte(text))
	return text[:maxDataKey-1-len(digest)] + "_" + digest
}

// parseDataKey parses the result of dataKeyOf. It returns false if the key was abbreviated, or is the key of no
// external.
func parseDataKey(text string) (manifests.Key, bool) {
	kind, name, _ := strings.Cut(text, ".")
	key := manifests.Key{Group: manifests.ExternalGroup, Kind: kind, Name: name}
	return key, checkKey(key) == nil
}
