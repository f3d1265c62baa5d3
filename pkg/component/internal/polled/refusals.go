package polled

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// The last causes of keptCauses components are known. An equal cause is logged again after causeLifetime.
	keptCauses    = 100
	causeLifetime = time.Minute
)

// refusals limits the log of calls, because callers without a secret can cause its messages.
type refusals struct {
	// causes contains the last cause of each component, as a logged value.
	causes *lru.Cache
	rate   *rate.Limiter
}

// logged is a cause that was logged. It is logged again at the time next.
type logged struct {
	cause string
	next  time.Time
}

func newRefusals() *refusals {
	return &refusals{causes: lru.New(keptCauses), rate: rate.NewLimiter(rate.Every(time.Second), keptCauses)}
}

// log logs a cause once in a while for each component, unless the caller has ended the call.
func (f *refusals) log(r *http.Request, name types.NamespacedName, message string, cause error) {
	if r.Context().Err() != nil {
		return
	}
	now := time.Now()
	if known, ok := f.causes.Get(name); ok {
		if last, ok := known.(logged); ok && last.cause == cause.Error() && now.Before(last.next) {
			return
		}
	}
	if !f.rate.Allow() {
		return
	}
	f.causes.Add(name, logged{cause: cause.Error(), next: now.Add(causeLifetime)})
	log.FromContext(r.Context()).Info(message, "component", name, "cause", cause.Error())
}
