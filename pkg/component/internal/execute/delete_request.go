package execute

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
)

// deleteObject sends a DELETE and returns the object in its answer; nil where the answer is a bare success. The dynamic client would
// throw the answer away, and with it the knowledge whether the object is gone.
func (e *Executor) deleteObject(ctx context.Context, a plan.Action, options metav1.DeleteOptions) (*unstructured.Unstructured, error) {
	mapping, err := e.mapping(a)
	if err != nil {
		return nil, err
	}
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	body, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	path := "/apis/" + mapping.Resource.Group + "/" + mapping.Resource.Version
	if mapping.Resource.Group == "" {
		path = "/api/" + mapping.Resource.Version
	}
	result := e.rest.Delete().AbsPath(path).NamespaceIfScoped(a.Key.Namespace, a.Key.Namespace != "").
		Resource(mapping.Resource.Resource).Name(a.Key.Name).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		Body(body).Do(ctx)
	// The raw answer would come with an error that only knows the status code; then a 404 could mean anything.
	if err := result.Error(); err != nil {
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(answer, &obj.Object); err != nil {
		return nil, err
	}
	if obj.GetKind() == "Status" {
		return nil, nil
	}
	return obj, nil
}
