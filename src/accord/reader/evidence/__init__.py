"""Evidence of what a reply is: a failure, an action, a list, a catalog of tools.

`facts` is what is known of a reply. Each function of `failures` (members of objects), `actions`,
`error_texts`, `lists` and `catalogs` looks for one kind of evidence in it, with the words of the
lexicon. `accord.reader.decision` weighs what they find.
"""
