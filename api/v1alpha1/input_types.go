package v1alpha1

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Input is a value of which the rendering is informed, besides the values in the spec. Exactly one of Object and Poll
// is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.object) != has(self.poll)",message="set either object or poll"
type Input struct {
	// Name of the input.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Path is the place of the value among the values, with dots between the names, such as database.host. It overrides
	// valuesFrom, and values override it. The default is inputs.NAME.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^.]+(\.[^.]+)*$`
	Path string `json:"path,omitempty"`

	// Object is an object in the component's own cluster. The component is rendered again when it changes.
	// +optional
	Object *ObjectInput `json:"object,omitempty"`

	// Poll is an address that the operator asks for the value, as JSON or YAML, at an interval.
	// +optional
	Poll *PollInput `json:"poll,omitempty"`
}

// ObjectInput is an object whose content is an input. It is read as the service account of the component.
//
// +kubebuilder:validation:XValidation:rule="self.apiVersion != 'v1' || self.kind != 'Secret'",message="a Secret cannot be an input; name it in valuesFrom"
type ObjectInput struct {
	// APIVersion of the object, such as apps/v1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace of the object. The default is the component's namespace. It is ignored for cluster-scoped types.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Field is the part of the object that is the value, with dots between the names, such as data or status.capacity. The
	// default is the whole object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^.]+(\.[^.]+)*$`
	Field string `json:"field,omitempty"`
	// Optional allows that the object, or the field, does not exist. There is no value then.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Title returns the kind and the name of the object, with its namespace if the input names it. An object without a
// namespace is in the namespace of the component, or in none.
func (o ObjectInput) Title() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// PollInput is an address of a value.
type PollInput struct {
	// URL is the address. The operator sends a GET request without credentials. The response is a JSON or YAML document
	// of at most 256 KiB.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+([/?#].*)?$')",message="want an http or https URL without user and password, such as https://example.com/rates.json"
	URL string `json:"url"`
	// Interval between the requests, 10s or more. The default is 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('10s')",message="want a duration of 10s or more, such as 10m or 1h30m"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// Webhook permits calls that start the polls of a component at once.
type Webhook struct {
	// SecretRef names the key of the signatures: the header X-Hub-Signature-256 of a call has the HMAC of its body. The
	// Secret is read as the service account of the component.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// MinPollInterval is the shortest interval of a poll, and DefaultPollInterval the interval of a poll without one.
const (
	MinPollInterval     = 10 * time.Second
	DefaultPollInterval = 5 * time.Minute
)

// Place returns the place of the value among the values.
func (i Input) Place() []string { return strings.Split(cmp.Or(i.Path, "inputs."+i.Name), ".") }

// Every returns the interval of the poll.
func (p PollInput) Every() time.Duration {
	if p.Interval == nil {
		return DefaultPollInterval
	}
	return max(p.Interval.Duration, MinPollInterval)
}

// Polls returns the inputs that are polled.
func (c *Component) Polls() []Input {
	var polls []Input
	for _, input := range c.Spec.Inputs {
		if input.Poll != nil {
			polls = append(polls, input)
		}
	}
	return polls
}

// validateInputs returns an error for inputs that contradict each other.
func (c *Component) validateInputs() error {
	var errs []error
	places := map[string]string{}
	for i, input := range c.Spec.Inputs {
		place := strings.Join(input.Place(), ".")
		for other, name := range places {
			if strings.HasPrefix(place+".", other+".") || strings.HasPrefix(other+".", place+".") {
				errs = append(errs, fmt.Errorf("spec.inputs[%d]: its path %s overlaps with the path %s of input %s; "+
					"choose another path", i, place, other, name))
			}
		}
		places[place] = input.Name
		if (input.Object == nil) == (input.Poll == nil) {
			errs = append(errs, fmt.Errorf("spec.inputs[%d]: set either object or poll", i))
		}
	}
	if c.Spec.Webhook != nil && len(c.Polls()) == 0 {
		errs = append(errs, errors.New("spec.webhook: it has an effect only with an input that is polled; add one, or "+
			"remove webhook"))
	}
	return errors.Join(errs...)
}
