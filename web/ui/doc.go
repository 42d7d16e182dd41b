// Package ui is the dashboard's door: it serves the pages that package show
// makes, and turns what their forms send into one operation of the broker each.
//
// Everything works without scripts. A form that was wrong comes back with 422
// and what was wrong beside its fields; one that was right is answered with a
// redirect and a notice that is shown once. What destroys something asks first,
// on a page of its own, with exact numbers; the number goes back with the
// answer, and the broker refuses if there is more by then.
package ui
