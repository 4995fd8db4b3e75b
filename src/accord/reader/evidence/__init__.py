"""Evidence of what a reply is: a failure, an action, a list, a catalog of tools.

`facts` is what is known of a reply; each function in `failures`, `actions`, `lists` and `catalogs`
looks for one kind of evidence in it. `accord.reader.decision` weighs what they find.
"""
