package generatortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// Request is the content of a file request.yaml. The default request is the first apply of a component demo in the
// namespace demo-system, without a target cluster.
type Request struct {
	Name       string         `json:"name,omitempty"`
	Namespace  string         `json:"namespace,omitempty"`
	Revision   int64          `json:"revision,omitempty"`
	Digest     string         `json:"digest,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
	// KubernetesVersion and APIVersions are the capabilities of the target cluster.
	KubernetesVersion string   `json:"kubernetesVersion,omitempty"`
	APIVersions       []string `json:"apiVersions,omitempty"`
	// Target contains the objects in the target cluster. If it is null, there is no target cluster.
	Target []map[string]any `json:"target"`
}

// ReadRequest reads a request. It returns the default request if the file does not exist, and an error for unknown
// fields.
func ReadRequest(file string) (Request, error) {
	request := Request{Name: "demo", Namespace: "demo-system", Revision: 1, Parameters: map[string]any{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return request, nil
	}
	if err != nil {
		return request, err
	}
	useNumber := func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }
	if err := yaml.UnmarshalStrict(text, &request, useNumber); err != nil {
		return request, fmt.Errorf("%s: %w", file, err)
	}
	// Integers are int64 in a request.
	for _, data := range append([]map[string]any{request.Parameters}, request.Target...) {
		if err := utiljson.ConvertMapNumbers(data, 0); err != nil {
			return request, fmt.Errorf("%s: %w", file, err)
		}
	}
	return request, nil
}

func (r Request) deepCopy() Request {
	r.Parameters = runtime.DeepCopyJSON(r.Parameters)
	target := slices.Clone(r.Target)
	for i := range target {
		target[i] = runtime.DeepCopyJSON(target[i])
	}
	r.Target = target
	return r
}

// Generator returns the request as a generator.Request.
func (r Request) Generator() generator.Request {
	request := generator.Request{
		Name:       r.Name,
		Namespace:  r.Namespace,
		Revision:   r.Revision,
		Digest:     r.Digest,
		Parameters: r.Parameters,
		Capabilities: generator.Capabilities{
			Version:     version.Info{GitVersion: r.KubernetesVersion},
			APIVersions: generator.NewAPIVersions(r.APIVersions...),
		},
	}
	if r.Target != nil {
		target := Lookup{}
		for _, object := range r.Target {
			target = append(target, &unstructured.Unstructured{Object: object})
		}
		request.Target = target
	}
	return request
}
