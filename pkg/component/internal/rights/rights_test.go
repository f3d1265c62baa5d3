package rights

import "testing"

func TestAdvice(t *testing.T) {
	const fred = "system:serviceaccount:shop:fred"
	for _, c := range []struct{ name, message, as, want string }{
		{"a right that the message names", `User "fred" cannot list resource "configmaps" in API group ""`, "fred", Grant},
		{
			"the right to impersonate a user",
			`User "operator" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "shop"`, fred,
			"allow that user to impersonate system:serviceaccount:shop:fred, or let the component use another identity",
		},
		{
			"a right of an impersonated user whom the message does not name",
			`User "operator" cannot impersonate-on:serviceaccount:list resource "configmaps" in API group "" in the namespace "shop"`, fred,
			"allow that user to impersonate system:serviceaccount:shop:fred, or let the component use another identity",
		},
		{
			"the right to impersonate a user that the caller does not name",
			`User "operator" cannot impersonate resource "users"`, "",
			"allow that user to impersonate others",
		},
		{"a webhook whose message contains the word impersonate", "denied: we cannot impersonate this", "fred", Grant},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Advice(c.message, c.as, Grant); got != c.want {
				t.Errorf("Advice returned %q", got)
			}
		})
	}
}
