// Package github checks the files that the forge reads: workflows, issue forms and CODEOWNERS. Its rules are those that
// the forge does not enforce, such as pinned actions, and jobs whose commands a person can run with make.
package github
