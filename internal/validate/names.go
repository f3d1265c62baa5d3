package validate

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// nameRule returns what is wrong with a name.
type nameRule func(name string) []string

// nameRules are the rules of those kinds whose names are not DNS subdomains.
var nameRules = map[schema.GroupKind]nameRule{
	{Kind: "Namespace"}: validation.IsDNS1123Label,
	{Kind: "Service"}:   validation.IsDNS1035Label,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: content.IsPathSegmentName,
	{Group: "batch", Kind: "CronJob"}:                     isCronJobName,
	{Group: "networking.k8s.io", Kind: "IPAddress"}:       isIPAddress,
}

// freeNames are the groups whose names are any part of a path.
var freeNames = map[string]bool{
	"rbac.authorization.k8s.io": true,
	"certificates.k8s.io":       true,
	"authorization.k8s.io":      true,
	"metrics.k8s.io":            true,
}

// maxCronJobName leaves room for the suffix of the Jobs of a CronJob.
const maxCronJobName = validation.DNS1035LabelMaxLength - 11

func isCronJobName(name string) []string {
	if len(name) > maxCronJobName {
		return []string{validation.MaxLenError(maxCronJobName)}
	}
	return validation.IsDNS1123Subdomain(name)
}

func isIPAddress(name string) []string {
	if ip, err := netip.ParseAddr(name); err != nil || ip.String() != name {
		return []string{"must be a canonical format IP address"}
	}
	return nil
}

func ruleOf(key manifests.Key) nameRule {
	if rule, ok := nameRules[key.GroupKind()]; ok {
		return rule
	}
	if freeNames[key.Group] {
		return content.IsPathSegmentName
	}
	return validation.IsDNS1123Subdomain
}

// checkNames checks the name and the namespace of an object that is created. A namespace with an invalid name cannot
// exist, and neither can a name that is no part of a path.
func checkNames(s Subject) []Fault {
	if s.Exists {
		return nil
	}
	var faults []Fault
	key := s.Object.Key
	if key.Namespace != "" {
		if problems := apivalidation.ValidateNamespaceName(key.Namespace, false); len(problems) > 0 {
			faults = append(faults, Fault{Field: "metadata.namespace", Message: invalid(key.Namespace, problems), Certain: true})
		}
	}
	if problems := content.IsPathSegmentName(key.Name); len(problems) > 0 {
		return append(faults, Fault{Field: "metadata.name", Message: invalid(key.Name, problems), Certain: true})
	}
	if s.UnknownType {
		return faults
	}
	if problems := ruleOf(key)(key.Name); len(problems) > 0 {
		faults = append(faults, Fault{Field: "metadata.name", Message: invalid(key.Name, problems)})
	}
	return faults
}

// maxQuoted is the maximum length of a value in a message.
const maxQuoted = 80

// invalid returns the message about an invalid value, in the words of the API server.
func invalid(value string, problems []string) string {
	if len(value) > maxQuoted {
		value = strings.ToValidUTF8(value[:maxQuoted], "") + "…"
	}
	return `Invalid value: "` + value + `": ` + strings.Join(problems, "; ")
}
