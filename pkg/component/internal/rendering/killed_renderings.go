package rendering

import (
	"errors"
	"fmt"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/lookup"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxKills is the number of renderings of the same inputs that may be killed before the component is Stalled.
const maxKills = 3

// Kills counts the renderings of a component that were killed one after the other; see generator.KilledError. The zero
// value is ready to use.
type Kills struct {
	attempt attempt
	count   int
	// cause is the error of the last rendering that was killed.
	cause *generator.KilledError
}

// attempt identifies what is rendered: the digest of the inputs, the target cluster, the values of the exports that
// earlier renderings asked for, and the last request for a pass by annotation, with which a person asks for another
// attempt.
type attempt struct{ inputs, cluster, exports, requested string }

func (r Request) attempt() attempt {
	exports := strings.Join(lookup.Lookups{Exports: r.Exports}.ExportLines(), "\n")
	return attempt{inputs: r.Inputs.Digest, cluster: r.Target.Cluster, exports: exports, requested: r.Requested}
}

// refusal returns an error if the renderings of the same inputs were killed too often, so that nothing is rendered.
func (k *Kills) refusal(a attempt) error {
	if k == nil || k.count < maxKills || k.attempt != a {
		return nil
	}
	return &passerror.Error{
		Reason: metav1alpha1.ReasonRenderingKilled, Terminal: true, Cause: k.cause,
		Message: fmt.Sprintf("%s; this happened %d times in a row, so nothing is rendered until the inputs change: "+
			"the spec, the referenced objects, the source or an export", k.cause.Error(), k.count),
	}
}

// note counts the end of a rendering, and returns its error. The error of the last permitted rendering becomes the
// refusal.
func (k *Kills) note(a attempt, err error) error {
	killed := causeOfKill(err)
	if k == nil {
		return err
	}
	if killed == nil {
		if err == nil {
			*k = Kills{}
		}
		return err
	}
	if k.attempt != a {
		*k = Kills{attempt: a}
	}
	k.count, k.cause = k.count+1, killed
	if refused := k.refusal(a); refused != nil {
		return refused
	}
	return err
}

// causeOfKill returns the error of a rendering that was killed, or nil for other errors.
func causeOfKill(err error) *generator.KilledError {
	known, ok := errors.AsType[*passerror.Error](err)
	if !ok {
		return nil
	}
	killed, _ := errors.AsType[*generator.KilledError](known.Cause)
	return killed
}
