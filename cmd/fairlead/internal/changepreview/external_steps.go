package changepreview

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// addExternals completes the steps on externals: the external before the step is the manifest that was applied last, as
// far as the person may read the record.
func (r *Result) addExternals(ctx context.Context, c *cluster.Cluster) {
	changes := func(s result.Step) bool { return s.Key.IsExternal() && s.Effect != result.EffectCreate }
	if !slices.ContainsFunc(r.Forecast.Steps, changes) {
		return
	}
	status, err := cluster.StatusIfAny(r.Target, r.Component)
	if err != nil {
		r.ExternalsUnread = err
		return
	}
	records, err := tree.ExternalRecords(ctx, c, r.Component, &status)
	r.ExternalsUnread = err
	recorded := map[manifests.Key]tree.ExternalRecord{}
	for _, record := range records {
		recorded[record.Key] = record
	}
	for i := range r.Forecast.Steps {
		step := &r.Forecast.Steps[i]
		if !changes(*step) {
			continue
		}
		var before unstructured.Unstructured
		record, known := recorded[step.Key]
		switch {
		case !known && r.ExternalsUnread == nil:
			r.ExternalsUnread = errors.New("there is no record of " + step.Key.String())
		case record.Damage != "":
			r.ExternalsUnread = errors.New(record.Damage)
		case json.Unmarshal(record.Manifest, &before.Object) == nil:
			step.Before = &before
		}
	}
}
