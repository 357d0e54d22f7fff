import tensorflow as tf

print(tf.test.is_gpu_available())
config = tf.ConfigProto()
config.gpu_options.allow_growth = True
sess = tf.Session(config=config)
