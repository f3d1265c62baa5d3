package exit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
)

var _ = Describe("CodeOf", func() {
	components := schema.GroupResource{Group: "fairlead.io", Resource: "components"}
	kind := schema.GroupKind{Group: "fairlead.io", Kind: "Component"}
	terminating := &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason:  metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	missing := apierrors.NewForbidden(components, "shop",
		errors.New(`User "joe" cannot get resource "components" in API group "fairlead.io"`))
	refused := &url.Error{
		Op: "Get", URL: "https://127.0.0.1:1",
		Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")},
	}

	DescribeTable("classifies an error, wrapped or not:",
		func(err error, want exit.Code) {
			Expect(exit.CodeOf(err)).To(Equal(want))
			if err != nil {
				Expect(exit.CodeOf(fmt.Errorf("apply: %w", err))).To(Equal(want))
			}
		},
		Entry("no error", nil, exit.Yes),
		Entry("an error of the command itself", exit.Refuse("no"), exit.No),
		Entry("bad usage", exit.BadUsage("what?"), exit.Misuse),
		Entry("bad input", exit.BadInput("what?"), exit.Misuse),
		Entry("a kubeconfig that cannot be used", exit.Unasked("where?"), exit.NotAsked),
		Entry("not found", apierrors.NewNotFound(components, "shop"), exit.No),
		Entry("invalid", apierrors.NewInvalid(kind, "shop", nil), exit.No),
		Entry("conflict", apierrors.NewConflict(components, "shop", errors.New("changed")), exit.No),
		Entry("a namespace that is being deleted, although the API server reports Forbidden", terminating, exit.No),
		Entry("interrupted", context.Canceled, exit.Interrupted),
		Entry("a missing right", missing, exit.NotAsked),
		Entry("a missing right in an error of Refuse", exit.Refuse("the notes: %w", missing), exit.NotAsked),
		Entry("forbidden by admission", apierrors.NewForbidden(components, "shop", errors.New("exceeded quota")), exit.No),
		Entry("unauthorized", apierrors.NewUnauthorized("who?"), exit.NotAsked),
		Entry("overloaded", apierrors.NewTooManyRequests("later", 1), exit.NotAsked),
		Entry("time-out of the server", apierrors.NewTimeoutError("slow", 1), exit.NotAsked),
		Entry("time-out of a request", context.DeadlineExceeded, exit.NotAsked),
		Entry("internal error", apierrors.NewInternalError(errors.New("oops")), exit.NotAsked),
		Entry("unavailable", apierrors.NewServiceUnavailable("down"), exit.NotAsked),
		Entry("no connection", refused, exit.NotAsked),
		Entry("a kind that is not served", &meta.NoKindMatchError{GroupKind: kind}, exit.NotAsked),
	)

	It("adds the number of the signal to 128", func() {
		Expect(exit.InterruptedBy(exit.SignalError{Signal: syscall.SIGINT})).To(Equal(exit.Interrupted))
		Expect(exit.InterruptedBy(exit.SignalError{Signal: syscall.SIGTERM})).To(Equal(exit.Code(143)))
		Expect(exit.InterruptedBy(context.Canceled)).To(Equal(exit.Interrupted))
	})

	It("joins errors, and takes the code of the first one without a result, or else of the first", func() {
		for _, row := range []struct {
			errs []error
			want exit.Code
		}{
			{[]error{exit.Refuse("no"), missing, exit.BadUsage("what?")}, exit.NotAsked},
			{[]error{exit.Refuse("no"), exit.BadInput("what?")}, exit.No},
			{[]error{exit.BadUsage("what?"), exit.Refuse("no")}, exit.Misuse},
		} {
			err := exit.Join(row.errs)
			Expect(exit.CodeOf(err)).To(Equal(row.want))
			Expect(exit.IsBadUsage(err)).To(Equal(slices.ContainsFunc(row.errs, exit.IsBadUsage)))
			Expect(err).To(MatchError(errors.Join(row.errs...).Error()))
		}
		Expect(exit.Join(nil)).To(Succeed())
	})

	It("joins errors into one line", func() {
		Expect(exit.Line(errors.Join(errors.New("one"), errors.New("two")))).To(Equal("one; two"))
		Expect(exit.Line(errors.Join(errors.New("unknown\n\nDid you mean this?"), errors.New("\tstatus")))).
			To(Equal("unknown; Did you mean this? status"))
	})
})
