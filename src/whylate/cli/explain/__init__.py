"""`whylate explain`: why was it late?"""
