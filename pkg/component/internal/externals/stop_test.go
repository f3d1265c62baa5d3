package externals_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
)

// A result that cannot be recorded is retried after a back-off of up to a minute.
func TestTheManagerStopsAlthoughAResultCannotBeRecorded(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.apply(thing(kind, "a"))
		w.retries = true
		w.server.Refuse = func(string, string) error { return errors.New("503") }
		w.operate(10*time.Minute, thing(kind, "b"))
		w.stop()
		begun := time.Now()
		w.manager.Wait()
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("the attempts to record went on for %s", took)
		}
	})
}

func TestAResultIsRecordedWhileTheManagerStops(t *testing.T) {
	forKinds(t, []string{"Thing"}, func(t *testing.T, w *world, kind string) {
		w.retries = true
		var down atomic.Bool
		w.server.Refuse = func(string, string) error {
			if down.Load() {
				return errors.New("503")
			}
			return nil
		}
		w.cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
			down.Store(c.Method == "Create" || down.Load())
			return componenttest.CloudFault{}
		})
		w.operate(10*time.Minute, thing(kind, "a"))
		w.stop()
		time.Sleep(3 * time.Second)
		down.Store(false)
		w.cloud.SetFault(nil)
		w.manager.Wait()
		w.start()
		w.expect("a", w.apply(thing(kind, "a")), "")
		if calls := w.cloud.Calls("Create"); calls != 1 {
			t.Errorf("%d creates", calls)
		}
	})
}
