package componenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// The faults of a cloud. Besides, its calls meet Crash: the process ends before or after the call takes effect.
const (
	// CloudDelay lets a call wait.
	CloudDelay Fault = "CloudDelay"
	// CloudError fails a call, which has no effect.
	CloudError Fault = "CloudError"
	// CloudLimit refuses a call for a moment.
	CloudLimit Fault = "CloudLimit"
	// CloudLost loses the answer of a call that took effect.
	CloudLost Fault = "CloudLost"
	// CloudTwice lets a call take effect twice. Creates that must not be repeated do not meet it.
	CloudTwice Fault = "CloudTwice"
	// CloudStale answers that a thing does not exist. A true answer follows before the next stale one, because
	// external.Options.Settle promises that stale answers end. A list is empty, lacks things, or is an earlier one, also
	// several times in a row.
	CloudStale Fault = "CloudStale"
	// CloudForget loses a thing.
	CloudForget Fault = "CloudForget"
)

// errCloud is the error of a call that meets a fault. It does not tell whether the call had an effect.
var errCloud = errors.New("the cloud did not answer")

// possibleInCloud are the faults that a call can meet.
func (f Faults) possibleInCloud(call CloudCall) []Fault {
	kinds := []Fault{CloudDelay, CloudError, CloudLimit, CloudLost}
	switch call.Method {
	case "Observe":
		kinds = append(kinds, CloudStale, CloudForget)
	case "Find":
		kinds = append(kinds, CloudStale)
	case "List":
		kinds = append(kinds, CloudStale, CloudStale, CloudStale)
	case "Create":
		// The lost answer of a create hurts most.
		kinds = append(kinds, CloudLost, CloudLost)
		if call.Repeatable {
			kinds = append(kinds, CloudTwice)
		}
	case "Update", "Delete":
		kinds = append(kinds, CloudTwice)
	}
	return slices.DeleteFunc(kinds, func(k Fault) bool { return !slices.Contains(f.Kinds, k) })
}

// cloudFault decides what goes wrong in a call to the cloud. Polls of things meet faults, but are no requests of the
// operator: it comes to rest in spite of them.
func (i *Injector) cloudFault(call CloudCall) CloudFault {
	i.mu.Lock()
	defer i.mu.Unlock()
	request := "cloud " + call.Method
	i.sent[request]++
	dice := i.faults.dice(i.step, request, i.sent[request])
	isPoll := call.Method == "Observe" || call.Method == "List"
	if i.crashesIn(call.Method, i.sent[request]) || !isPoll && i.crashesAt(request) {
		if dice.IntN(2) == 0 {
			return CloudFault{Before: errStopped}
		}
		return CloudFault{After: errStopped}
	}
	subject := call.ID + call.Token
	possible := i.faults.possibleInCloud(call)
	stale := i.stale[subject]
	if i.left < 1 || len(possible) == 0 || dice.IntN(100) >= i.faults.Percent {
		delete(i.stale, subject)
		return CloudFault{}
	}
	fault := possible[dice.IntN(len(possible))]
	if fault == CloudStale && call.Method == "List" {
		i.left--
		i.note(fault, request)
		return staleList(dice)
	}
	if fault == CloudStale && stale {
		delete(i.stale, subject)
		return CloudFault{}
	}
	i.left--
	i.note(fault, request+" "+subject)
	if fault == CloudStale {
		i.stale[subject] = true
	}
	return effectOf(fault, dice)
}

// cloudMethods are the methods of a Cloud.
var cloudMethods = []string{"Create", "Update", "Delete", "Find", "Observe", "List"}

// cloudCrash returns a call of a step at which the process ends. It is one of the first calls of its method, because a
// step makes few calls that write. Find is called only after a fault, so its first call is chosen.
func cloudCrash(dice *rand.Rand) (method string, number int) {
	method, number = cloudMethods[dice.IntN(len(cloudMethods))], 1+dice.IntN(4)
	if method == "Find" {
		number = 1
	}
	return method, number
}

// crashesIn reports whether the operator crashes at a call of a Cloud, by the number of the call in the step. The
// caller holds the lock.
func (i *Injector) crashesIn(method string, number int) bool {
	planned := slices.Index(i.cloudCrashes[method], number)
	if planned < 0 {
		return false
	}
	i.cloudCrashes[method] = slices.Delete(i.cloudCrashes[method], planned, planned+1)
	i.count, i.last = 0, time.Now()
	i.note(Crash, "cloud "+method)
	i.crash()
	return true
}

// crashesAt counts a call, and reports whether the operator crashes at it. The caller holds the lock.
func (i *Injector) crashesAt(request string) bool {
	i.count++
	i.last = time.Now()
	if len(i.crashes) == 0 || i.count < i.crashes[0] {
		return false
	}
	i.crashes, i.count = i.crashes[1:], 0
	i.note(Crash, request)
	i.crash()
	return true
}

// staleList returns one of the ways in which a list is old.
func staleList(dice *rand.Rand) CloudFault {
	switch dice.IntN(3) {
	case 0:
		return CloudFault{Stale: true}
	case 1:
		return CloudFault{Partial: true}
	default:
		return CloudFault{Earlier: true}
	}
}

// effectOf returns what a fault does to a call.
func effectOf(fault Fault, dice *rand.Rand) CloudFault {
	switch fault {
	case CloudDelay:
		wait := make(chan struct{})
		time.AfterFunc(time.Duration(dice.Int64N(int64(longestDelay))), func() { close(wait) })
		return CloudFault{Wait: wait}
	case CloudError:
		return CloudFault{Before: errCloud}
	case CloudLimit:
		return CloudFault{Before: external.RefusedFor(errors.New("too many calls"), longestDelay)}
	case CloudLost:
		return CloudFault{After: errCloud}
	case CloudTwice:
		return CloudFault{Twice: true}
	case CloudStale:
		return CloudFault{Stale: true}
	case CloudForget:
		return CloudFault{Forget: true}
	case Delay, Conflict, TooManyRequests, InternalError, Unsent, Unanswered, Stale, Cut, Lag, Expired, Crash:
	}
	return CloudFault{}
}

// foreign is a thing of another owner in each cloud of a scenario.
func foreign() Thing { return Thing{ID: "foreign", Token: "of-another-owner", Value: "foreign"} }

// things describes the things of the cloud, without their ids and tokens, which differ in each run.
func (p *run[C]) things() (found map[string]any, problems []string) {
	found = map[string]any{}
	if p.cloud == nil {
		return found, nil
	}
	isForeign := false
	for _, t := range p.cloud.Things() {
		if t == foreign() {
			isForeign = true
			continue
		}
		n, _ := found[t.Value].(float64)
		found[t.Value] = n + 1
	}
	if !isForeign {
		problems = append(problems, "the thing of another owner was touched")
	}
	if n := p.cloud.doubles(); n > 0 {
		problems = append(problems, fmt.Sprintf("things were created although a thing with their token existed (%d)", n))
	}
	return found, problems
}

// uncertain finds the token and the name of an external in the message about it.
var uncertain = regexp.MustCompile(`token ([0-9a-f]{40}); .*fairlead external resolve (?:-n \S+ )?\S+ (\S+/\S+) --id`)

// uncertainThings returns the ids and the tokens of the externals whose creates are uncertain, by kind and name. The id
// of one that does not exist is empty.
func (p *run[C]) uncertainThings(messages []string) (ids, tokens map[string]string) {
	ids, tokens = map[string]string{}, map[string]string{}
	for _, message := range messages {
		m := uncertain.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		ids[m[2]], tokens[m[2]] = "", m[1]
		for _, t := range p.cloud.Things() {
			if t.Token == m[1] {
				ids[m[2]] = t.ID
			}
		}
	}
	return ids, tokens
}

// resolve answers for the uncertain creates, as a person does who looks into the cloud.
func (p *run[C]) resolve(ctx context.Context) error {
	if p.cloud == nil {
		return nil
	}
	c, err := p.current(ctx)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	var texts []string
	for _, condition := range c.GetStatus().Conditions {
		texts = append(texts, condition.Message)
	}
	for _, w := range c.GetStatus().Waiting {
		texts = append(texts, w.Message)
	}
	ids, tokens := p.uncertainThings(texts)
	if len(ids) == 0 {
		return nil
	}
	if p.Resolve != nil {
		for _, external := range slices.Sorted(maps.Keys(ids)) {
			if err := p.Resolve(ctx, p.namespace, external, ids[external]); err != nil {
				return fmt.Errorf("resolve %s: %w", external, err)
			}
		}
		return nil
	}
	answers := map[string]any{}
	for external, id := range ids {
		if id == "" {
			answers[external] = map[string]any{"token": tokens[external], "absent": true}
		} else {
			answers[external] = map[string]any{"token": tokens[external], "id": id}
		}
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, p.Reconciler+"/resolve-external", text)
	return client.IgnoreNotFound(p.client.Patch(ctx, c, client.RawPatch("application/merge-patch+json", []byte(patch))))
}
